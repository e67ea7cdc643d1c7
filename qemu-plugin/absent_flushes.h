// SPDX-License-Identifier: GPL-2.0-or-later
// Flushes of pages that are not mapped yet. Hardware maps the page first (a page fault) and then
// flushes; TCG executes a flush as nothing, so nobody knows yet which line it is. It is remembered
// until the page appears.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "qemu-plugin/address_range.h"
#include "trace/event.h"

namespace fencepost::tracer {

struct AbsentFlushCounts {
    std::uint64_t found = 0; // became an event, at once or when the page appeared
    std::uint64_t in_volatile_memory = 0;
    std::uint64_t lost = 0; // the page never appeared, or its line had been stored to by then: a
                            // flush recorded so late would cover too much
};

class AbsentFlushes {
public:
    struct SiteFlushes {
        trace::Event last; // but for its address
        std::uint64_t flushes = 0;
    };

    bool empty() const { return pages_.empty(); }

    // `event`: the flush but for its address, with the vCPU that executed it; `address` is virtual.
    void remember(std::uint64_t address_space, std::uint64_t address, const trace::Event &event);
    // A flush whose page is not mapped there, and was found through another mapping of it.
    void found_elsewhere() { ++counts_.found; }
    // Of PM, while !empty().
    void store(std::uint64_t physical, unsigned size);
    // A fence that completes flushes whatever rule counts, while !empty().
    void fence(unsigned vcpu);

    // Pages of the range that flushes wait for, by address, at most `limit`.
    std::vector<std::uint64_t> waiting(std::uint64_t address_space, const AddressRange &range,
                                       std::size_t limit = SIZE_MAX) const;
    // `limit` pages of the address space, other ones each time.
    std::vector<std::uint64_t> some_waiting(std::uint64_t address_space, std::size_t limit);

    // The page of `address` is there now, at `frame` in PM. Gives the flushes of it, to be recorded
    // at this point: nothing has been stored to their lines since, so they cover what they covered
    // then. One that a fence has completed since is a clflush, which needs no further fence.
    std::vector<trace::Event> appear(std::uint64_t address_space, std::uint64_t address,
                                     std::uint64_t frame);
    // The same, and the page is not PM.
    std::vector<SiteFlushes> appear_volatile(std::uint64_t address_space, std::uint64_t address);
    // What the addresses mean may be another thing from here on.
    void forget(std::uint64_t address_space, const AddressRange &range);

    // With those that still wait as lost.
    AbsentFlushCounts counts() const;
    std::map<trace::SiteId, SiteFlushes> lost() const;

private:
    struct Page {
        std::uint64_t address_space;
        std::uint64_t number;
        auto operator<=>(const Page &) const = default;
    };
    struct Waiting {
        std::uint64_t offset; // in the page
        std::uint64_t time;
        std::uint64_t flushes; // of this line by this vCPU
        trace::Event event;    // the latest of them
    };
    using Pages = std::map<Page, std::vector<Waiting>>;

    static Page page_of(std::uint64_t address_space, std::uint64_t address);
    void lose(const trace::Event &event, std::uint64_t flushes);
    Pages::iterator remove(Pages::iterator page); // gives the next one
    Pages::iterator lose_page(Pages::iterator page);

    Pages pages_;
    Page next_ = {};          // where some_waiting() goes on
    std::size_t waiting_ = 0; // flushes in all pages
    std::uint64_t time_ = 0;
    std::unordered_map<std::uint64_t, std::uint64_t>
        stored_; // line -> when, since the oldest that waits
    std::unordered_map<unsigned, std::uint64_t> fenced_; // vCPU -> when last
    AbsentFlushCounts counts_;
    std::map<trace::SiteId, SiteFlushes> lost_;
};

} // namespace fencepost::tracer
