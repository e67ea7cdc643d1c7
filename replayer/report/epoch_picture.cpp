// SPDX-License-Identifier: GPL-2.0-or-later
// See epoch_picture.h.
#include "replayer/report/epoch_picture.h"

#include <fmt/format.h>

#include "analyzer/symbols/pm_names.h"

namespace fencepost::collect {

using model::kNone;
using trace::Event;
using trace::EventKind;

namespace {

constexpr std::size_t kMostLines = 40;
constexpr std::size_t kMostFromBefore = 12;
constexpr std::size_t kMostEvents = 240;

// A place in PM needs no escapes but for the name of its region.
std::string json_string(std::string_view text)
{
    std::string quoted = "\"";
    for (const char c : text) {
        const bool plain = c >= 0x20 && c < 0x7f && c != '"' && c != '\\' && c != '<';
        quoted +=
            plain ? std::string(1, c) : fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    }
    return quoted + "\"";
}

} // namespace

std::size_t PictureSites::number_of(trace::SiteId site)
{
    const auto [found, added] = numbers_.try_emplace(site, texts_.size());
    if (added)
        texts_.push_back(names_.where(site));
    return found->second;
}

void EpochPicture::begin(std::uint64_t seq, const model::InFlight &in_flight)
{
    first_seq_ = seq;
    lines_.clear();
    rows_.clear();
    events_.clear();
    left_out_ = 0;
    std::uint32_t number = in_flight.first_line();
    for (; number != kNone && lines_.size() < kMostFromBefore; number = in_flight.line(number).next)
        row_of(in_flight.line_of(number), true);
    left_out_ += in_flight.line_count() - lines_.size();
}

std::int64_t EpochPicture::row_of(std::uint64_t line, bool from_before)
{
    if (const auto found = rows_.find(line); found != rows_.end())
        return found->second;
    if (lines_.size() == kMostLines)
        return -1;
    const auto row = static_cast<std::int64_t>(lines_.size());
    lines_.push_back({line, from_before});
    rows_.emplace(line, row);
    return row;
}

void EpochPicture::event(std::uint64_t seq, const Event &event)
{
    const std::int64_t row = event.has_address() ? row_of(event.first_line(), false) : -1;
    if (event.has_address() && row < 0) {
        ++left_out_;
        return;
    }
    const std::size_t site = sites_.number_of(event.site);
    if (!events_.empty() && event.is_store()) {
        Seen &last = events_.back();
        if (last.kind == event.kind && last.line == row && last.site == site &&
            last.seq + last.repeats + 1 == seq) {
            ++last.repeats;
            last.size += event.size;
            return;
        }
    }
    if (events_.size() == kMostEvents) {
        ++left_out_;
        return;
    }
    events_.push_back({seq, event.kind, row, event.size, site});
}

std::string EpochPicture::finish(std::uint64_t end_seq, const std::string &ended_by,
                                 const model::InFlight &in_flight,
                                 std::span<const CrashPointCount> crash_points) const
{
    std::string text = fmt::format("{{\"n\":{},\"x\":{},\"l\":[", first_seq_, end_seq - first_seq_);
    for (const Line &line : lines_)
        text +=
            fmt::format("{}[{},{:d},{:d}]", &line == lines_.data() ? "" : ",",
                        json_string(symbols::pm_name(regions_, line.number * trace::kLineBytes)),
                        line.from_before, in_flight.find(line.number) != kNone);
    text += "],\"v\":[";
    for (const Seen &each : events_)
        text += fmt::format("{}[{},{},{},{},{}]", &each == events_.data() ? "" : ",",
                            each.seq - first_seq_, static_cast<unsigned>(each.kind), each.line,
                            each.size, each.site);
    text += "],\"c\":[";
    for (const CrashPointCount &point : crash_points)
        text += fmt::format("{}[{},{},{}]", &point == crash_points.data() ? "" : ",",
                            point.seq - first_seq_, point.tested, point.failing);
    return text + fmt::format("],\"e\":{},\"m\":{}}}", json_string(ended_by), left_out_);
}

} // namespace fencepost::collect
