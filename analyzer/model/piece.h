// SPDX-License-Identifier: GPL-2.0-or-later
// One part of a store that reaches PM whole or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "trace/event.h"

namespace fencepost::model {

inline constexpr std::uint32_t kNone = UINT32_MAX;
inline constexpr unsigned kUnitsPerLine = trace::kLineBytes / trace::kUnitBytes;

// A store is cut at unit boundaries (and so at line boundaries); a piece lies in one unit.
struct Piece {
    std::uint64_t value = 0; // its bytes, little-endian, the unused upper ones zero
    std::uint64_t seq = 0;   // the store's event
    trace::SiteId site = 0;
    trace::StackId stack = 0;
    std::uint32_t next = kNone; // the line's next piece, see InFlight
    std::uint16_t vcpu = 0;
    std::uint8_t offset = 0; // in the line
    std::uint8_t size : 5 = 0;
    std::uint8_t non_temporal : 1 = 0;
    // Whole-line order only: the line cannot end here, more pieces of the same store follow.
    std::uint8_t joined : 1 = 0;

    unsigned unit() const { return offset / trace::kUnitBytes; }
    // Over the line's bytes.
    void write_to(std::byte *line) const
    {
        if (size == trace::kUnitBytes) [[likely]]
            std::memcpy(line + offset, &value, trace::kUnitBytes);
        else
            std::memcpy(line + offset, &value, size);
    }
};
static_assert(sizeof(Piece) == 40 || sizeof(Piece) == 32);

struct SettledPiece {
    std::uint64_t line = 0;
    Piece piece;
};

} // namespace fencepost::model
