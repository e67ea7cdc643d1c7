// SPDX-License-Identifier: GPL-2.0-or-later
// The distinct shapes of a block: all of an event but its address and value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "trace/event.h"

namespace fencepost::trace {

// A loop stores with one shape thousands of times, so events name their shape by a small number
// that compresses to almost nothing. Numbers are given in order of first use.
class ShapeTable {
public:
    ShapeTable() { clear(); }

    std::uint32_t number_of(const Event &event)
    {
        const Key key = key_of(event);
        // What followed the last shape before is likely to follow it again.
        const std::uint32_t guess = followers_[last_];
        if (guess < keys_.size() && keys_[guess] == key) [[likely]]
            return last_ = guess;
        const std::uint32_t found = find_or_add(key, event);
        followers_[last_] = found;
        return last_ = found;
    }

    std::size_t size() const { return shapes_.size(); }
    std::span<const Event> shapes() const { return shapes_; } // address and value are 0
    std::vector<std::byte> encode() const;
    void clear();

private:
    // site, stack, kind, subkind, size, flags, vcpu: the second half of an Event.
    struct Key {
        std::uint64_t code;
        std::uint64_t rest;
        bool operator==(const Key &) const = default;
    };
    static Key key_of(const Event &event)
    {
        static_assert(offsetof(Event, site) == 16 && sizeof(Key) == 16);
        Key key;
        std::memcpy(&key, reinterpret_cast<const std::byte *>(&event) + 16, sizeof key);
        return key;
    }
    std::uint32_t find_or_add(const Key &key, const Event &event);
    std::size_t slot_of(const Key &key) const;
    void grow();

    std::vector<Event> shapes_;
    std::vector<Key> keys_;
    std::vector<std::uint32_t> followers_;
    std::uint32_t last_ = 0;
    std::vector<std::uint32_t> slots_; // open addressing, a power of two; number + 1, 0 = free
};

// The inverse of ShapeTable::encode() for untrusted bytes. Every shape returned is well-formed;
// anything else is an Error(trace).
void decode_shapes(std::span<const std::byte> bytes, std::vector<Event> &shapes);

// Whether kind, subkind, size and flags fit together.
bool is_well_formed(const Event &event);

} // namespace fencepost::trace
