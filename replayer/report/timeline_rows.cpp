// SPDX-License-Identifier: GPL-2.0-or-later
// See timeline_rows.h.
#include "replayer/report/timeline_rows.h"

#include <algorithm>

#include "analyzer/symbols/pm_names.h"

namespace fencepost::collect {

using report::Fate;
using report::TimelineRow;
using trace::Event;
using trace::EventKind;

namespace {

constexpr std::size_t kNearest = 12;   // rows before the power failure
constexpr std::size_t kNext = 5;       // rows that would have come next
constexpr std::size_t kBeside = 3;     // a row with a role, on either side
constexpr std::size_t kInFlight = 20;  // rows of what is in flight
constexpr std::size_t kOperations = 4; // markers, the last ones

bool is_in_flight(const TimelineRow &row)
{
    return row.fate == Fate::persisted || row.fate == Fate::partly || row.fate == Fate::lost;
}

void keep(std::vector<bool> &kept, std::size_t first, std::size_t last)
{
    for (std::size_t i = first; i < std::min(last, kept.size()); ++i)
        kept[i] = true;
}

} // namespace

TimelineRows::TimelineRows(const symbols::CodeNames &names, const trace::TraceReader &reader,
                           const findings::Finding &finding)
    : names_(names), reader_(reader), regions_(reader.regions())
{
    for (const findings::Place &place : finding.places)
        if (place.role != findings::kLast)
            roles_.emplace(place.at.event.seq, place.role);
}

bool TimelineRows::joins(const Event &event, const TimelineRow &row) const
{
    const bool follows = event.kind == EventKind::flush
                             ? event.first_line() == row.address / trace::kLineBytes + row.events
                             : event.address == row.address + row.size;
    return event.has_address() && event.kind == row.kind && event.site == site_ &&
           event.stack == stack_ && row.role.empty() && follows;
}

std::string TimelineRows::marker_text(std::uint64_t seq) const
{
    std::string text;
    reader_.for_each_marker([&](const trace::MarkerRow &row) { text = row.marker.text; }, seq, seq);
    return text;
}

void TimelineRows::add(std::uint64_t seq, const Event &event, Fate fate, bool flushed)
{
    const auto role = roles_.find(seq);
    if (role == roles_.end() && !rows_.empty() && joins(event, rows_.back()) &&
        rows_.back().fate == fate && rows_.back().flushed == flushed) {
        TimelineRow &row = rows_.back();
        row.last_seq = seq;
        ++row.events;
        row.size += event.size;
        return;
    }
    site_ = event.site;
    stack_ = event.stack;
    const symbols::CodePlace code = names_.code(event.site);
    TimelineRow row = {.first_seq = seq,
                       .last_seq = seq,
                       .kind = event.kind,
                       .what = std::string(trace::subkind_name(event.kind, event.subkind)),
                       .code = text_of(code),
                       .instruction = code.instruction,
                       .address = event.address,
                       .size = event.size,
                       .fate = fate,
                       .flushed = flushed};
    if (event.is_store())
        row.what = event.kind == EventKind::nt_store ? "nt store" : "store";
    if (event.kind == EventKind::marker)
        row.code = marker_text(seq);
    if (event.has_address())
        row.place = symbols::pm_name(regions_, event.address);
    if (role != roles_.end())
        row.role = role->second;
    rows_.push_back(std::move(row));
}

std::vector<TimelineRow> TimelineRows::around(std::uint64_t seq)
{
    const auto middle = static_cast<std::size_t>(
        std::find_if(rows_.begin(), rows_.end(),
                     [seq](const TimelineRow &row) { return row.first_seq >= seq; }) -
        rows_.begin());
    std::vector<bool> kept(rows_.size());
    keep(kept, middle > kNearest ? middle - kNearest : 0, middle + kNext);
    std::size_t in_flight = 0;
    std::size_t operations = 0;
    for (std::size_t i = middle; i-- > 0;) {
        const TimelineRow &row = rows_[i];
        if (!row.role.empty())
            keep(kept, i > kBeside ? i - kBeside : 0, i + kBeside + 1);
        if (is_in_flight(row) && in_flight++ < kInFlight)
            kept[i] = true;
        if (row.kind == EventKind::marker && operations++ < kOperations)
            kept[i] = true;
    }
    std::vector<TimelineRow> chosen;
    std::uint64_t skipped = 0;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        if (!kept[i]) {
            ++skipped;
            continue;
        }
        chosen.push_back(std::move(rows_[i]));
        chosen.back().skipped = chosen.size() == 1 ? 0 : skipped;
        skipped = 0;
    }
    return chosen;
}

} // namespace fencepost::collect
