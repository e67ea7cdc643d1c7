// SPDX-License-Identifier: GPL-2.0-or-later
// What an epoch looks like: lines of PM against events. Kept small: a report has thousands.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyzer/model/in_flight.h"
#include "analyzer/symbols/code_names.h"
#include "replayer/report/results_view.h"
#include "trace/event.h"
#include "trace/reader.h"

namespace fencepost::collect {

// Names of code that pictures share.
class PictureSites {
public:
    PictureSites(const symbols::CodeNames &names, std::vector<std::string> &texts)
        : names_(names), texts_(texts)
    {
    }
    std::size_t number_of(trace::SiteId site);

private:
    const symbols::CodeNames &names_;
    std::vector<std::string> &texts_;
    std::unordered_map<trace::SiteId, std::size_t> numbers_;
};

// Of the epoch that goes on. What there is no room for is counted.
class EpochPicture {
public:
    EpochPicture(const trace::TraceReader &reader, PictureSites &sites)
        : regions_(reader.regions()), sites_(sites)
    {
    }

    // The event with that number begins an epoch; what is in flight was stored before.
    void begin(std::uint64_t seq, const model::InFlight &in_flight);
    void event(std::uint64_t seq, const trace::Event &event);
    // JSON, one line: {"n": first event, "l": [[place, in flight from before, in flight behind the
    // end]], "v": [[event - n, kind, line or -1, bytes, site]], "c": [[event - n, tested,
    // failing]], "e": what ends it, "m": events and lines left out}.
    std::string finish(std::uint64_t end_seq, const std::string &ended_by,
                       const model::InFlight &in_flight,
                       std::span<const CrashPointCount> crash_points) const;
    bool empty() const { return events_.empty() && lines_.empty(); }

private:
    struct Line {
        std::uint64_t number = 0;
        bool from_before = false;
    };
    struct Seen {
        std::uint64_t seq = 0;
        trace::EventKind kind = trace::EventKind::store;
        std::int64_t line = -1;
        unsigned size = 0;
        std::size_t site = 0;
        std::uint64_t repeats = 0; // the same again, to the following bytes
    };

    std::int64_t row_of(std::uint64_t line, bool from_before);

    const std::vector<trace::Region> regions_;
    PictureSites &sites_;
    std::uint64_t first_seq_ = 0;
    std::vector<Line> lines_;
    std::unordered_map<std::uint64_t, std::int64_t> rows_;
    std::vector<Seen> events_;
    std::uint64_t left_out_ = 0;
};

} // namespace fencepost::collect
