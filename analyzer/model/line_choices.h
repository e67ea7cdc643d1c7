// SPDX-License-Identifier: GPL-2.0-or-later
// The legal states of one line in flight.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "analyzer/model/in_flight.h"

namespace fencepost::model {

// How many of the in-flight pieces of each unit are in PM. The pieces of a unit persist in order,
// so this says all about a line.
using UnitCounts = std::array<std::uint32_t, kUnitsPerLine>;

// The legal states of a line, numbered: 0 is "nothing that is in flight", count() - 1 "all of it".
//
// Cached pieces (Order::line: stores) persist as a prefix. For each length of that prefix the
// non-temporal pieces of each unit persist as a prefix too, whose length is bounded by the cached
// pieces around them in their unit and by nothing else. So the states are the sum, over the lengths
// of the cached prefix, of products over units.
class LineChoices {
public:
    LineChoices() = default;
    LineChoices(const InFlight &in_flight, const InFlightLine &line) { assign(in_flight, line); }

    // Another line; keeps the memory.
    void assign(const InFlight &in_flight, const InFlightLine &line);

    // UINT64_MAX: that many or more. States beyond can not be named by a number.
    std::uint64_t count() const { return count_; }
    double log2_count() const { return log2_count_; }
    UnitCounts at(std::uint64_t number) const;
    // The number of a legal state: at() of it is `counts`.
    std::uint64_t number_of(const UnitCounts &counts) const;
    // Whether pieces of the units, so many each, are in PM in a legal state.
    bool legal(const UnitCounts &counts) const;

private:
    // With one length of the cached prefix: how many pieces of each unit there are at least and at
    // most.
    struct Range {
        UnitCounts least;
        UnitCounts most;
        std::uint64_t count;

        bool contains(const UnitCounts &counts) const;
    };

    // A cached piece: its place in its unit, and that of the unit's next one (or how many pieces
    // the unit has).
    struct Stop {
        unsigned unit;
        std::uint32_t place;
        std::uint32_t next;
    };

    void add_range(const UnitCounts &least, const UnitCounts &most);
    void add_stores(const InFlight &in_flight, const InFlightLine &line);
    void add_cached_prefixes(const InFlight &in_flight, const InFlightLine &line);
    double log2_sum() const;

    std::vector<Range> ranges_;
    std::vector<Stop> stops_;
    std::uint64_t count_ = 0;
    double log2_count_ = 0;
};

} // namespace fencepost::model
