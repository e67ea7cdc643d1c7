// SPDX-License-Identifier: GPL-2.0-or-later
// What each site did between two fences, counted in one pass over the events.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "trace/event_scan.h"
#include "trace/fence_rule.h"

namespace fencepost::trace {

struct IntervalSite {
    SiteId site = 0;
    std::uint64_t stores = 0;
    std::uint64_t nt_stores = 0;
    std::uint64_t flushes = 0;
    std::uint64_t fences = 0;
};

// A fence interval is the events up to and including a fence that counts. Intervals are numbered
// from 0; the fence that ends one belongs to it, whichever vCPU executed it. Memory depends on the
// number of sites in one interval, not on the trace.
class IntervalCounts {
public:
    IntervalCounts(EventScan scan, FenceRule rule);

    static EventFilter filter(); // what `scan` must let through

    // The next interval with anything in it; false at the end.
    bool next();

    std::uint64_t interval() const { return interval_; }
    std::uint64_t first_seq() const { return first_seq_; } // of what was counted
    std::uint64_t last_seq() const { return last_seq_; }
    std::span<const IntervalSite> sites() const { return sites_; } // ascending

private:
    bool next_event();
    IntervalSite &counts_of(SiteId site);
    void clear();
    void count(const Event &event);

    EventScan scan_;
    FenceRule rule_;
    std::size_t index_ = 0; // of the next event in the scan's block
    std::size_t count_ = 0;
    bool started_ = false;
    bool at_end_ = false;
    std::uint64_t interval_ = 0;
    std::uint64_t first_seq_ = 0;
    std::uint64_t last_seq_ = 0;
    std::vector<IntervalSite> sites_;
    // Where in sites_ a site is, plus 1; 0 = not yet in this interval. Ids are dense in honest
    // traces; what lies beyond a limit goes to the map, so that a forged id cannot ask for memory.
    std::vector<std::uint32_t> dense_;
    std::unordered_map<SiteId, std::uint32_t> sparse_;
};

} // namespace fencepost::trace
