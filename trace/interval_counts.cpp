// SPDX-License-Identifier: GPL-2.0-or-later
// See interval_counts.h.
#include "trace/interval_counts.h"

#include <algorithm>

namespace fencepost::trace {

namespace {

constexpr std::size_t kDenseSites = 1 << 20;

} // namespace

IntervalCounts::IntervalCounts(EventScan scan, FenceRule rule) : scan_(std::move(scan)), rule_(rule)
{
}

EventFilter IntervalCounts::filter()
{
    return {.kinds = static_cast<std::uint8_t>(
                kind_bit(EventKind::store) | kind_bit(EventKind::nt_store) |
                kind_bit(EventKind::flush) | kind_bit(EventKind::fence)),
            .with_values = false};
}

IntervalSite &IntervalCounts::counts_of(SiteId site)
{
    if (site >= dense_.size() && site < kDenseSites)
        dense_.resize(std::max<std::size_t>(2 * dense_.size(), site + std::size_t{1}));
    std::uint32_t &slot = site < dense_.size() ? dense_[site] : sparse_[site];
    if (slot == 0) {
        sites_.push_back({.site = site});
        slot = static_cast<std::uint32_t>(sites_.size());
    }
    return sites_[slot - 1];
}

void IntervalCounts::clear()
{
    for (const IntervalSite &row : sites_)
        if (row.site < dense_.size())
            dense_[row.site] = 0;
    sparse_.clear();
    sites_.clear();
}

void IntervalCounts::count(const Event &event)
{
    IntervalSite &counts = counts_of(event.site);
    counts.stores += event.kind == EventKind::store;
    counts.nt_stores += event.kind == EventKind::nt_store;
    counts.flushes += event.kind == EventKind::flush;
    counts.fences += event.kind == EventKind::fence;
}

bool IntervalCounts::next_event()
{
    if (index_ < count_)
        return true;
    // A scan that has ended would start again.
    if (at_end_ || !scan_.next()) {
        at_end_ = true;
        return false;
    }
    index_ = 0;
    count_ = scan_.all_selected() ? scan_.events().size() : scan_.selected().size();
    return true;
}

bool IntervalCounts::next()
{
    clear();
    if (!next_event())
        return false;
    interval_ += started_;
    started_ = true;
    bool ended = false;
    bool first = true;
    while (!ended && next_event()) {
        const std::span<const Event> events = scan_.events();
        const bool all = scan_.all_selected();
        for (; index_ < count_ && !ended; ++index_) {
            const std::size_t at = all ? index_ : scan_.selected()[index_];
            if (first)
                first_seq_ = scan_.first_seq() + at;
            first = false;
            last_seq_ = scan_.first_seq() + at;
            count(events[at]);
            ended = counts_as_fence(events[at], rule_);
        }
    }
    std::ranges::sort(sites_, {}, &IntervalSite::site);
    return true;
}

} // namespace fencepost::trace
