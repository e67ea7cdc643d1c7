// SPDX-License-Identifier: GPL-2.0-or-later
// Flushes of pages that are not mapped yet. Hardware maps the page first (a page fault) and then
// flushes; TCG executes a flush as nothing, so nobody knows yet which line it is. It is remembered
// until the page appears.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "trace/event.h"

namespace fencepost::tracer {

struct AbsentFlushCounts {
    std::uint64_t resolved = 0; // became an event when the page appeared
    std::uint64_t overtaken =
        0; // the line was stored to in the meantime: a flush now would cover too much
    std::uint64_t unresolved = 0; // the page never appeared, or is not PM
};

class AbsentFlushes {
public:
    bool empty() const { return pages_.empty(); }

    // `event`: the flush but for its address, with the vCPU that executed it; `address` is virtual.
    void remember(std::uint64_t address_space, std::uint64_t address, const trace::Event &event);
    // Of PM, while !empty().
    void store(std::uint64_t physical, unsigned size);
    // A fence that completes flushes whatever rule counts, while !empty().
    void fence(unsigned vcpu);

    // The page of `address` is there now, at `frame` in PM. Gives the flushes of it, to be recorded
    // at this point: nothing has been stored to their lines since, so they cover what they covered
    // then. One that a fence has completed since is a clflush, which needs no further fence.
    std::vector<trace::Event> appear(std::uint64_t address_space, std::uint64_t address,
                                     std::uint64_t frame);
    // The same, and the page is not PM.
    void appear_volatile(std::uint64_t address_space, std::uint64_t address);
    // What the address space maps may be another thing from here on.
    void forget(std::uint64_t address_space);

    // With those that still wait as unresolved.
    AbsentFlushCounts counts() const;

private:
    struct Page {
        std::uint64_t address_space;
        std::uint64_t number;
        bool operator==(const Page &) const = default;
    };
    struct PageHash {
        std::size_t operator()(const Page &page) const;
    };
    struct Waiting {
        std::uint64_t offset; // in the page
        std::uint64_t time;
        std::uint64_t flushes; // of this line by this vCPU
        trace::Event event;    // the latest of them
    };

    static Page page_of(std::uint64_t address_space, std::uint64_t address);
    std::size_t drop(const std::vector<Waiting> &page); // how many they were

    std::unordered_map<Page, std::vector<Waiting>, PageHash> pages_;
    std::size_t waiting_ = 0; // flushes in all pages
    std::uint64_t time_ = 0;
    std::unordered_map<std::uint64_t, std::uint64_t>
        stored_; // line -> when, since the oldest that waits
    std::unordered_map<unsigned, std::uint64_t> fenced_; // vCPU -> when last
    AbsentFlushCounts counts_;
};

} // namespace fencepost::tracer
