// SPDX-License-Identifier: GPL-2.0-or-later
// See timelines.h.
#include "replayer/report/timelines.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include <fmt/format.h>

#include "analyzer/symbols/pm_names.h"
#include "base/error.h"
#include "replayer/image/state_contents.h"
#include "replayer/report/timeline_rows.h"

namespace fencepost::collect {

using findings::Finding;
using report::Fate;
using report::Timeline;
using report::TimelineRow;
using trace::Event;
using trace::EventKind;

namespace {

// Events that are looked at around the one that a timeline is about.
constexpr std::uint64_t kBefore = 4000;
constexpr std::uint64_t kAfter = 400;
constexpr std::size_t kBytesShown = 16; // of each row

// What of a store is in flight at the crash point.
struct InFlightStore {
    TimelineRow row; // as far as its pieces tell
    unsigned pieces = 0;
    unsigned persisted = 0;
    bool flushed = false;

    Fate fate() const
    {
        return persisted == 0 ? Fate::lost : persisted == pieces ? Fate::persisted : Fate::partly;
    }
};

using InFlightStores = std::map<std::uint64_t, InFlightStore>; // by seq

void add_piece(const image::StatePiece &piece, InFlightStores &stores)
{
    InFlightStore &store = stores[piece.store.seq];
    TimelineRow &row = store.row;
    const std::uint64_t end = std::max(row.address + row.size, piece.address + piece.size);
    row.first_seq = row.last_seq = piece.store.seq;
    row.address = store.pieces == 0 ? piece.address : std::min(row.address, piece.address);
    row.size = store.pieces == 0 ? piece.size : end - row.address;
    row.kind = piece.non_temporal ? EventKind::nt_store : EventKind::store;
    ++store.pieces;
    store.persisted += piece.persisted;
}

InFlightStores in_flight_in(const image::StateContents &contents)
{
    InFlightStores stores;
    for (const image::StateItem &item : contents.items)
        for (const image::StateLine &line : item.lines)
            for (const image::StatePiece &piece : line.pieces)
                add_piece(piece, stores);
    return stores;
}

// A flush of a line is of no use to what is stored there later.
void note_flush(const Event &event, std::uint64_t seq, InFlightStores &stores)
{
    for (auto &[stored, store] : stores) {
        const TimelineRow &row = store.row;
        const bool same_line =
            !event.has_address() ||
            (row.address / trace::kLineBytes <= event.first_line() &&
             event.first_line() <= (row.address + row.size - 1) / trace::kLineBytes);
        store.flushed |= stored < seq && same_line;
    }
}

bool is_shown(const Event &event, model::FenceRule rule)
{
    switch (event.kind) {
    case EventKind::store:
    case EventKind::nt_store:
    case EventKind::flush:
        return true;
    case EventKind::fence:
        return trace::counts_as_fence(event, rule);
    case EventKind::marker:
        return event.marker_kind() == trace::MarkerKind::op_begin ||
               event.marker_kind() == trace::MarkerKind::op_end ||
               event.marker_kind() == trace::MarkerKind::checkpoint;
    case EventKind::load:
        break;
    }
    return false;
}

std::string hexadecimal(const std::byte *bytes, std::size_t count)
{
    std::string text;
    for (std::size_t i = 0; i < count; ++i)
        text += fmt::format("{:02x}", static_cast<unsigned>(bytes[i]));
    return text;
}

// Adds what is in PM as stores come, and what they leave, to rows of a timeline.
class ByteReader {
public:
    ByteReader(std::vector<TimelineRow> &rows, const image::InitialImage &initial) : pm_(initial)
    {
        for (TimelineRow &row : rows)
            if (row.kind <= EventKind::nt_store && row.size != 0)
                open_.push_back(&row);
    }

    // Ascending, and no two that touch.
    std::vector<trace::LineRange> lines() const
    {
        std::vector<std::uint64_t> numbers;
        for (const TimelineRow *row : open_)
            for (std::uint64_t line = row->address / trace::kLineBytes; line <= last_line(*row);
                 ++line)
                numbers.push_back(line);
        std::sort(numbers.begin(), numbers.end());
        std::vector<trace::LineRange> ranges;
        for (const std::uint64_t line : numbers)
            if (ranges.empty() || ranges.back().last + 1 < line)
                ranges.push_back({line, line});
            else
                ranges.back().last = line;
        return ranges;
    }
    std::uint64_t last_seq() const
    {
        std::uint64_t last = 0;
        for (const TimelineRow *row : open_)
            last = std::max(last, row->last_seq);
        return last;
    }

    void store(std::uint64_t seq, const Event &event, std::span<const std::byte> bytes)
    {
        while (next_ < open_.size() && open_[next_]->first_seq <= seq) {
            open_[next_]->before = shown(*open_[next_]);
            ++next_;
        }
        for (std::size_t i = 0; i < bytes.size(); ++i)
            if (std::byte *at = byte_at(event.address + i))
                *at = bytes[i];
        for (std::size_t i = 0; i < next_; ++i)
            if (open_[i]->after.empty() && open_[i]->last_seq <= seq)
                open_[i]->after = shown(*open_[i]);
    }

private:
    static std::uint64_t last_line(const TimelineRow &row)
    {
        return (row.address + std::min<std::uint64_t>(row.size, kBytesShown) - 1) /
               trace::kLineBytes;
    }

    std::byte *byte_at(std::uint64_t address)
    {
        std::byte *line = pm_.line(address / trace::kLineBytes);
        return line ? line + address % trace::kLineBytes : nullptr;
    }

    std::string shown(const TimelineRow &row)
    {
        std::string text;
        for (std::uint64_t i = 0; i < std::min<std::uint64_t>(row.size, kBytesShown); ++i)
            if (const std::byte *at = byte_at(row.address + i))
                text += hexadecimal(at, 1);
        return text;
    }

    image::PmCopy pm_;
    std::vector<TimelineRow *> open_;
    std::size_t next_ = 0;
};

} // namespace

Timelines::Timelines(const trace::TraceReader &reader, const symbols::CodeNames &names,
                     const std::vector<std::string> &incidental)
    : reader_(reader), names_(names), incidental_(reader, trace::incidental_functions(incidental))
{
}

const image::InitialImage &Timelines::initial()
{
    if (!initial_)
        initial_.emplace(reader_);
    return *initial_;
}

void Timelines::add_bytes(Timeline &timeline)
{
    ByteReader bytes(timeline.rows, initial());
    std::vector<trace::LineRange> lines = bytes.lines();
    if (lines.empty())
        return;
    reader_
        .scan({.last_seq = bytes.last_seq(),
               .kinds = trace::kind_bit(EventKind::store) | trace::kind_bit(EventKind::nt_store),
               .lines = std::move(lines)})
        .for_each([&](std::uint64_t seq, const Event &event, std::span<const std::byte> wide) {
            bytes.store(seq, event, trace::value_of(event, wide));
        });
}

Timeline Timelines::of_state(const Finding &finding)
{
    const states::CrashState state = states::parse_crash_state(finding.state);
    const image::StateContents contents =
        image::contents_of(reader_, initial(), state, incidental_);
    InFlightStores in_flight = in_flight_in(contents);
    Timeline timeline = {.crash_seq = state.seq, .epoch = contents.epoch};
    timeline.in_flight_stores = in_flight.size();
    for (const auto &[seq, store] : in_flight)
        timeline.persisted_stores += store.persisted != 0;
    const std::uint64_t first = state.seq > kBefore ? state.seq - kBefore : 0;
    TimelineRows rows(names_, reader_, finding);
    // What is in flight from long ago.
    for (const auto &[seq, store] : in_flight)
        if (seq < first)
            reader_.scan({.first_seq = seq, .last_seq = seq})
                .for_each([&rows, fate = store.fate()](std::uint64_t at, const Event &event,
                                                       std::span<const std::byte>) {
                    rows.add(at, event, fate);
                });
    const std::uint64_t last = std::min(state.seq + kAfter, reader_.event_count());
    const auto scan = [&](auto &&visit) {
        reader_.scan({.first_seq = first, .last_seq = last == 0 ? 0 : last - 1})
            .for_each([&](std::uint64_t seq, const Event &event, std::span<const std::byte>) {
                if (is_shown(event, state.fences))
                    visit(seq, event);
            });
    };
    scan([&](std::uint64_t seq, const Event &event) {
        if (event.kind == EventKind::flush && seq < state.seq)
            note_flush(event, seq, in_flight);
    });
    scan([&](std::uint64_t seq, const Event &event) {
        const auto found = in_flight.find(seq);
        if (!event.is_store())
            rows.add(seq, event, Fate::none);
        else if (seq >= state.seq)
            rows.add(seq, event, Fate::not_executed);
        else if (found == in_flight.end())
            rows.add(seq, event, Fate::guaranteed);
        else
            rows.add(seq, event, found->second.fate(), found->second.flushed);
    });
    timeline.rows = rows.around(state.seq);
    add_bytes(timeline);
    return timeline;
}

Timeline Timelines::of_rule(const Finding &finding)
{
    std::uint64_t first = finding.first_seq;
    std::uint64_t last = finding.first_seq;
    for (const findings::Place &place : finding.places)
        if (place.at.event.seq + kBefore > finding.first_seq &&
            place.at.event.seq < finding.first_seq + kBefore) {
            first = std::min(first, place.at.event.seq);
            last = std::max(last, place.at.event.seq);
        }
    Timeline timeline = {.crash_seq = last + 1, .crashed = false};
    TimelineRows rows(names_, reader_, finding);
    reader_.scan({.first_seq = first > kAfter ? first - kAfter : 0, .last_seq = last + kAfter})
        .for_each([&](std::uint64_t seq, const Event &event, std::span<const std::byte>) {
            if (is_shown(event, model::FenceRule::explicit_only))
                rows.add(seq, event, Fate::none);
        });
    timeline.rows = rows.around(last + 1);
    add_bytes(timeline);
    return timeline;
}

} // namespace fencepost::collect
