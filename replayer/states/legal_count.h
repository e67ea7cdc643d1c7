// SPDX-License-Identifier: GPL-2.0-or-later
// How many states are legal: exactly while that is a 64-bit number, else as a logarithm.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/model/in_flight.h"
#include "analyzer/model/line_choices.h"

namespace fencepost::states {

struct StateCount {
    std::optional<std::uint64_t> exact; // none: too many for 64 bits
    double log2 = 0;

    void add(const StateCount &other);
};

// Follows the lines in flight; an update costs what changed.
class LegalCount {
public:
    // Looks at the lines that changed since InFlight::forget_changes(); call that next.
    void update(const model::InFlight &in_flight);
    StateCount count(const model::InFlight &in_flight) const;

private:
    std::uint64_t exact_of(const model::InFlight &in_flight, const model::InFlightLine &line) const;
    double log2_of(const model::InFlight &in_flight, const model::InFlightLine &line);

    // Logarithms in multiples of 2^-32, so that what is taken away is exactly what was added.
    std::vector<std::int64_t> parts_; // by the line's number
    std::int64_t sum_ = 0;
    model::LineChoices choices_;
};

} // namespace fencepost::states
