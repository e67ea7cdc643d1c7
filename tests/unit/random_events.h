// SPDX-License-Identifier: GPL-2.0-or-later
// Random events of every kind and size, and a plain record of them to compare with.
#pragma once

#include <random>
#include <vector>

#include "trace/event_buffer.h"
#include "trace/event_scan.h"

namespace fencepost::trace {

// An event with its bytes beside it, as plain as can be.
struct PlainEvent {
    Event event; // value is 0
    std::vector<std::byte> bytes;

    bool operator==(const PlainEvent &) const = default;
};

inline PlainEvent plain(const Event &event, std::span<const std::byte> wide_values)
{
    const auto bytes = value_of(event, wide_values);
    PlainEvent result = {event, {bytes.begin(), bytes.end()}};
    result.event.value = 0;
    return result;
}

inline void push(EventBuffer &buffer, const PlainEvent &from)
{
    if (from.event.is_store())
        buffer.push_store(from.event, from.bytes.data());
    else if (from.event.kind == EventKind::marker)
        buffer.push_marker(from.event, {});
    else
        buffer.push(from.event);
}

class RandomEvents {
public:
    explicit RandomEvents(std::uint64_t seed) : random_(seed) {}

    std::uint64_t below(std::uint64_t limit) { return random_() % limit; }

    PlainEvent next()
    {
        PlainEvent made;
        Event &event = made.event;
        event.kind = static_cast<EventKind>(below(kEventKinds));
        event.subkind = static_cast<std::uint8_t>(below(subkind_count(event.kind)));
        event.site = static_cast<SiteId>(below(20) ? below(50) : below(1ull << 32));
        event.stack = static_cast<StackId>(below(3)    ? 0
                                           : below(10) ? below(40)
                                                       : below(1ull << 32));
        event.vcpu = static_cast<std::uint16_t>(below(50) ? below(4) : below(65536));
        if (event.is_store() || event.kind == EventKind::load)
            event.size = static_cast<std::uint8_t>(below(3) ? 8 : 1 + below(kMaxStoreBytes));
        if (event.is_store())
            event.flags = below(4) ? 0 : kAtomic;
        if (event.has_address())
            event.address = address();
        if (event.is_store()) {
            made.bytes.resize(event.size);
            const bool zero = below(2);
            for (std::byte &byte : made.bytes)
                byte = zero ? std::byte{0} : static_cast<std::byte>(random_());
        }
        return made;
    }

    std::vector<PlainEvent> take(std::size_t count)
    {
        std::vector<PlainEvent> events;
        for (std::size_t i = 0; i < count; ++i)
            events.push_back(next());
        return events;
    }

private:
    // A walk through a few pages with jumps, so that lines repeat and stores straddle them.
    std::uint64_t address()
    {
        if (below(8))
            last_ += below(3) ? 8 : below(64);
        else
            last_ = (4ull << 30) + below(below(4) ? 1 << 16 : 1 << 26);
        if (below(5000) == 0)
            return below(1ull << 52);
        return last_;
    }

    std::mt19937_64 random_;
    std::uint64_t last_ = 4ull << 30;
};

// The filter's meaning, spelled out for one event.
inline bool passes(const EventFilter &filter, std::uint64_t seq, const Event &event)
{
    const auto listed = [](const auto &list, auto value) {
        return !list || std::find(list->begin(), list->end(), value) != list->end();
    };
    const auto touched = [&] {
        if (!filter.lines)
            return true;
        for (const LineRange &range : *filter.lines)
            if (event.has_address() && event.first_line() <= range.last &&
                event.last_line() >= range.first)
                return true;
        return false;
    };
    return seq >= filter.first_seq && seq <= filter.last_seq &&
           (filter.kinds & kind_bit(event.kind)) && listed(filter.sites, event.site) &&
           listed(filter.vcpus, event.vcpu) && touched();
}

} // namespace fencepost::trace
