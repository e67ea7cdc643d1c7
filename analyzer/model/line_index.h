// SPDX-License-Identifier: GPL-2.0-or-later
// From a line to its number among the lines in flight: a hash table of 32-bit numbers.
#pragma once

#include <cstdint>
#include <vector>

namespace fencepost::model {

// Open addressing with linear probing; removal closes the gap, so there are no tombstones and the
// table is as large as the most lines that were in it at once.
class LineIndex {
public:
    static constexpr std::uint32_t kAbsent = UINT32_MAX;

    LineIndex() : slots_(kSmallest), mask_(kSmallest - 1) {}

    std::uint32_t find(std::uint64_t line) const
    {
        for (std::size_t at = home(line);; at = (at + 1) & mask_) {
            const Slot &slot = slots_[at];
            if (slot.number == kAbsent || slot.line == line)
                return slot.number;
        }
    }

    // `line` is not in the table.
    void add(std::uint64_t line, std::uint32_t number);
    // `line` is in the table.
    void remove(std::uint64_t line);

private:
    static constexpr std::size_t kSmallest = 64;

    struct Slot {
        std::uint64_t line = 0;
        std::uint32_t number = kAbsent;
    };

    std::size_t home(std::uint64_t line) const
    {
        return static_cast<std::size_t>((line * 0x9e3779b97f4a7c15u) >> 32) & mask_;
    }
    void insert(std::uint64_t line, std::uint32_t number);

    std::vector<Slot> slots_;
    std::size_t mask_;
    std::size_t count_ = 0;
};

} // namespace fencepost::model
