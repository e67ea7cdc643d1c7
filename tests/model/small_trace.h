// SPDX-License-Identifier: GPL-2.0-or-later
// Random traces that are small enough to be judged by definition.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/event.h"

namespace fencepost::model {

inline constexpr std::uint64_t kSmallTraceLine = (4ull << 30) / trace::kLineBytes;

// Two adjacent lines, few units, up to three vCPUs, at most kMaxPieces pieces: collisions and
// line-crossing stores are the rule.
class SmallTraces {
public:
    static constexpr unsigned kMaxPieces = 9;

    explicit SmallTraces(std::uint64_t seed) : state_(seed * 2 + 1) {}

    const std::vector<trace::Event> &next()
    {
        events_.clear();
        unsigned pieces = 0;
        const std::uint64_t vcpus = 1 + below(3);
        const std::uint64_t length = 3 + below(9);
        for (std::uint64_t i = 0; i < length; ++i) {
            trace::Event event = make(vcpus);
            if (event.is_store()) {
                pieces += pieces_of(event);
                if (pieces > kMaxPieces)
                    break;
            }
            // A locked instruction: a fence and then its own store.
            if (event.kind == trace::EventKind::store && event.size <= 8 && below(4) == 0) {
                event.flags = trace::kAtomic;
                events_.push_back(
                    {.kind = trace::EventKind::fence,
                     .subkind = static_cast<std::uint8_t>(below(2) ? trace::FenceKind::lock_rmw
                                                                   : trace::FenceKind::xchg),
                     .vcpu = event.vcpu});
            }
            events_.push_back(event);
        }
        return events_;
    }

    static unsigned pieces_of(const trace::Event &event)
    {
        return static_cast<unsigned>((event.address + event.size - 1) / trace::kUnitBytes -
                                     event.address / trace::kUnitBytes + 1);
    }

private:
    std::uint64_t below(std::uint64_t limit)
    {
        state_ += 0x9e3779b97f4a7c15u;
        std::uint64_t mixed = state_;
        mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
        mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
        return ((mixed ^ mixed >> 31) >> 32) * limit >> 32;
    }

    trace::Event make(std::uint64_t vcpus)
    {
        using trace::EventKind;
        static constexpr EventKind kKinds[] = {
            EventKind::store,    EventKind::store,    EventKind::store,    EventKind::store,
            EventKind::nt_store, EventKind::nt_store, EventKind::nt_store, EventKind::flush,
            EventKind::flush,    EventKind::flush,    EventKind::flush,    EventKind::fence,
            EventKind::fence,    EventKind::fence,    EventKind::fence,    EventKind::marker};
        trace::Event event;
        event.kind = below(40) ? kKinds[below(std::size(kKinds))] : EventKind::load;
        event.subkind = static_cast<std::uint8_t>(below(trace::subkind_count(event.kind)));
        if (event.kind == EventKind::fence && below(2))
            event.subkind = static_cast<std::uint8_t>(below(2)); // one that always counts
        if (event.kind == EventKind::marker && below(2))
            event.subkind = static_cast<std::uint8_t>(below(2)); // an operation begins or ends
        event.vcpu = static_cast<std::uint16_t>(below(vcpus));
        if (!event.has_address())
            return event;
        static constexpr unsigned kUnits[] = {0, 0, 1, 7, 7, 8, 8, 9};
        event.address = kSmallTraceLine * trace::kLineBytes +
                        kUnits[below(std::size(kUnits))] * trace::kUnitBytes;
        if (event.kind == EventKind::flush) {
            event.address += below(8);
            return event;
        }
        static constexpr std::uint8_t kSizes[] = {8, 8, 8, 8, 4, 1, 16, 13};
        event.size = below(60) ? kSizes[below(std::size(kSizes))] : 64;
        if (event.size != 8 || below(4) == 0)
            event.address += below(8);
        event.value = event.size <= 8 ? below(256) : 0;
        return event;
    }

    std::uint64_t state_;
    std::vector<trace::Event> events_;
};

} // namespace fencepost::model
