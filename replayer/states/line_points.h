// SPDX-License-Identifier: GPL-2.0-or-later
// At which crash points a line can hold given bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analyzer/model/in_flight.h"
#include "analyzer/model/line_choices.h"

namespace fencepost::states {

struct TimedPiece {
    model::Piece piece;
    std::uint64_t guaranteed = UINT64_MAX; // by this event; UINT64_MAX: by none so far
};

// A line from some crash point on.
struct LineHistory {
    std::array<std::byte, trace::kLineBytes> before = {}; // with all that is guaranteed there
    // The others, in order. What guarantees a piece guarantees those that must be there before it.
    std::vector<TimedPiece> pieces = {};
};

// A set of pieces that the order allows can be found at a crash point p exactly if its latest
// piece was stored before p, and no event before p guarantees one that it lacks: an interval of
// crash points. A line can hold some bytes wherever one of the sets that give these bytes can be
// found. What cached stores wrote is a prefix; for each length of it the units are independent, so
// it is enough to look at each unit's own prefixes.
class LinePoints {
public:
    explicit LinePoints(model::Order order) : order_(order) {}

    // Sets possible[i] to whether the line can hold `wanted` (64 bytes) at points[i]. `points` are
    // in ascending order.
    void find(const LineHistory &line, const std::byte *wanted,
              std::span<const std::uint64_t> points, std::span<std::uint8_t> possible);

private:
    // A unit after so many of its pieces.
    struct Step {
        std::uint64_t first = 0;         // the first crash point after the latest of them
        std::uint64_t last = UINT64_MAX; // before the event that guarantees the next one
        bool matches = false;            // these are the wanted bytes
    };
    struct Unit {
        std::vector<Step> steps;
        std::vector<std::uint32_t> cached; // steps whose piece is cached
        std::size_t next = 0;              // the first of `cached` that is not in the prefix
    };

    void prefixes(const LineHistory &line, const std::byte *wanted);
    void units(const LineHistory &line, const std::byte *wanted);
    void make_steps(const LineHistory &line, const std::byte *wanted);
    void look_at_unit(unsigned unit);
    void add_product();
    void mark(std::uint64_t first, std::uint64_t last, std::span<std::uint8_t> flags) const;

    const model::Order order_;
    std::span<const std::uint64_t> points_;
    std::span<std::uint8_t> possible_;
    std::array<Unit, model::kUnitsPerLine> units_;
    std::array<std::vector<std::uint8_t>, model::kUnitsPerLine> of_unit_; // by point
};

} // namespace fencepost::states
