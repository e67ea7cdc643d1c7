// SPDX-License-Identifier: GPL-2.0-or-later
// Random traces that are small enough to be judged by definition.
#pragma once

#include <array>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include "trace/event.h"

namespace fencepost::model {

inline constexpr std::uint64_t kSmallTraceLine = (4ull << 30) / trace::kLineBytes;

// Two adjacent lines, few units, up to three vCPUs, at most kMaxPieces pieces: collisions and
// line-crossing stores are the rule. Every byte stored is 0 or 1, so many stores change nothing, or
// a half of what they write, or put back what was there. Half of the traces are events in any
// order; the others publish something by a locked instruction, or copy to both lines.
class SmallTraces {
public:
    static constexpr unsigned kMaxPieces = 9;

    explicit SmallTraces(std::uint64_t seed) : state_(seed * 2 + 1) {}

    const std::vector<trace::Event> &next()
    {
        events_.clear();
        pieces_ = 0;
        vcpus_ = 1 + below(3);
        switch (below(4)) {
        case 0:
            publish();
            break;
        case 1:
            copy();
            break;
        default:
            add_any(3 + below(9));
        }
        if (below(2) == 0)
            add_operation();
        return events_;
    }

    // Where the bytes of wide stores are; the same for all traces.
    static std::span<const std::byte> wide_values()
    {
        static const std::array<std::byte, kWideBytes> values = [] {
            std::array<std::byte, kWideBytes> made = {};
            for (std::size_t i = 0; i < made.size(); ++i)
                made[i] = std::byte{(0x2d3a6c71u >> i / 8 % 32 & 1) != 0};
            return made;
        }();
        return values;
    }

    static unsigned pieces_of(const trace::Event &event)
    {
        return static_cast<unsigned>((event.address + event.size - 1) / trace::kUnitBytes -
                                     event.address / trace::kUnitBytes + 1);
    }

private:
    using EventKind = trace::EventKind;
    static constexpr unsigned kWideBytes = 256;

    std::uint64_t below(std::uint64_t limit)
    {
        state_ += 0x9e3779b97f4a7c15u;
        std::uint64_t mixed = state_;
        mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
        mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
        return ((mixed ^ mixed >> 31) >> 32) * limit >> 32;
    }

    std::uint16_t any_vcpu() { return static_cast<std::uint16_t>(below(vcpus_)); }

    // False: that would be too many pieces.
    bool add(const trace::Event &event)
    {
        const unsigned more = event.is_store() ? pieces_of(event) : 0;
        if (pieces_ + more > kMaxPieces)
            return false;
        pieces_ += more;
        events_.push_back(event);
        return true;
    }

    // Events of any kind; now and then a locked instruction, a fence and then its own store.
    void add_any(std::uint64_t count)
    {
        for (std::uint64_t i = 0; i < count; ++i) {
            const trace::Event event = make();
            if (event.kind == EventKind::store && event.size <= 8 && below(4) == 0)
                add_locked(event);
            else if (!add(event))
                return;
        }
    }

    void add_locked(trace::Event store)
    {
        store.flags = trace::kAtomic;
        const auto kind = below(2) ? trace::FenceKind::lock_rmw : trace::FenceKind::xchg;
        add({.kind = EventKind::fence,
             .subkind = static_cast<std::uint8_t>(kind),
             .vcpu = store.vcpu});
        if (!add(store))
            events_.pop_back();
    }

    // store node; clwb node; lock cmpxchg head; clwb head; sfence, with something left out or
    // between.
    void publish()
    {
        const std::uint16_t vcpu = any_vcpu();
        const std::uint64_t node = below(2) * trace::kLineBytes;
        const std::uint64_t head = below(4) ? trace::kLineBytes - node : node + 8;
        const auto step = [&](auto &&make_step) {
            if (below(7))
                make_step();
            if (below(3) == 0)
                add_any(1);
        };
        step([&] { add(store(EventKind::store, vcpu, node, 8)); });
        step(
            [&] { add(store(below(2) ? EventKind::store : EventKind::nt_store, vcpu, node, 16)); });
        step([&] { add(flush(vcpu, node)); });
        step([&] { add_locked(store(EventKind::store, vcpu, head, 8)); });
        step([&] { add(flush(vcpu, head)); });
        step([&] { add(fence(vcpu, below(2))); });
    }

    // The same to both lines, once or twice, as a run has it.
    void copy()
    {
        const std::uint16_t vcpu = any_vcpu();
        const EventKind kind = below(2) ? EventKind::store : EventKind::nt_store;
        const unsigned size = below(2) ? 8 : 16;
        for (std::uint64_t pass = 0; pass <= below(2); ++pass) {
            for (const unsigned line : {0u, 1u})
                add(store(kind, vcpu, line * trace::kLineBytes, size));
            add_any(below(3));
        }
        if (below(2))
            for (const unsigned line : {0u, 1u})
                add(flush(vcpu, line * trace::kLineBytes));
        add_any(1 + below(3));
    }

    // One begins and mostly returns, somewhere.
    void add_operation()
    {
        const auto insert = [this](std::size_t at, trace::MarkerKind kind) {
            if (at < events_.size() && events_[at].flags & trace::kAtomic)
                --at; // not within an instruction
            events_.insert(events_.begin() + static_cast<std::ptrdiff_t>(at),
                           {.kind = EventKind::marker, .subkind = static_cast<std::uint8_t>(kind)});
        };
        const std::size_t begin = below(events_.size() + 1);
        insert(begin, trace::MarkerKind::op_begin);
        if (below(4))
            insert(begin + 1 + below(events_.size() - begin), trace::MarkerKind::op_end);
    }

    trace::Event store(EventKind kind, std::uint16_t vcpu, std::uint64_t place, unsigned size)
    {
        trace::Event event = {.address = kSmallTraceLine * trace::kLineBytes + place,
                              .kind = kind,
                              .size = static_cast<std::uint8_t>(size),
                              .vcpu = vcpu};
        set_value(event);
        return event;
    }

    static trace::Event flush(std::uint16_t vcpu, std::uint64_t place)
    {
        return {.address = kSmallTraceLine * trace::kLineBytes + place,
                .kind = EventKind::flush,
                .subkind = static_cast<std::uint8_t>(trace::FlushKind::clwb),
                .vcpu = vcpu};
    }

    // 0 and 1 always count.
    static trace::Event fence(std::uint16_t vcpu, std::uint64_t subkind)
    {
        return {
            .kind = EventKind::fence, .subkind = static_cast<std::uint8_t>(subkind), .vcpu = vcpu};
    }

    void set_value(trace::Event &event)
    {
        if (event.size > 8)
            event.value = below((kWideBytes - trace::kMaxStoreBytes) / 8) * 8;
        else if (below(2))
            event.value = 0x0101010101010101u >> (8 - event.size) * 8;
    }

    trace::Event make()
    {
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
        event.vcpu = any_vcpu();
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
        if (event.is_store())
            set_value(event);
        return event;
    }

    std::uint64_t state_;
    std::uint64_t vcpus_ = 1;
    unsigned pieces_ = 0;
    std::vector<trace::Event> events_;
};

} // namespace fencepost::model
