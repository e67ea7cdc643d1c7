// SPDX-License-Identifier: GPL-2.0-or-later
// See legal_count.h.
#include "replayer/states/legal_count.h"

#include <algorithm>
#include <cmath>

namespace fencepost::states {

using model::InFlight;
using model::InFlightLine;
using model::Piece;

void StateCount::add(const StateCount &other)
{
    std::uint64_t sum = 0;
    if (exact && other.exact && !__builtin_add_overflow(*exact, *other.exact, &sum)) {
        exact = sum;
        log2 = std::log2(static_cast<double>(std::max<std::uint64_t>(sum, 1)));
        return;
    }
    const bool empty = exact && *exact == 0;
    const double larger = std::max(log2, other.log2);
    log2 =
        empty ? other.log2 : larger + std::log2(1 + std::exp2(std::min(log2, other.log2) - larger));
    exact.reset();
}

std::uint64_t LegalCount::exact_of(const InFlight &in_flight, const InFlightLine &line) const
{
    return model::LineChoices(in_flight, line).count();
}

double LegalCount::log2_of(const InFlight &in_flight, const InFlightLine &line)
{
    if (line.pieces() == 0)
        return 0;
    if (in_flight.order() == model::Order::units && line.non_temporal == 0)
        return std::log2(line.cached + 1.0);
    if (in_flight.order() == model::Order::units && line.cached == 0) {
        model::UnitCounts counts = {};
        in_flight.for_each_piece(line, [&](const Piece &piece) { ++counts[piece.unit()]; });
        double sum = 0;
        for (const std::uint32_t count : counts)
            sum += count == 1 ? 1 : std::log2(count + 1.0);
        return sum;
    }
    choices_.assign(in_flight, line);
    return choices_.log2_count();
}

void LegalCount::update(const InFlight &in_flight)
{
    for (const std::uint32_t number : in_flight.changed()) {
        if (number >= parts_.size())
            parts_.resize(number + 1u);
        const double log = log2_of(in_flight, in_flight.line(number));
        const auto part = static_cast<std::int64_t>(std::llround(std::ldexp(log, 32)));
        sum_ += part - parts_[number];
        parts_[number] = part;
    }
}

StateCount LegalCount::count(const InFlight &in_flight) const
{
    StateCount result;
    result.log2 = std::ldexp(static_cast<double>(sum_), -32);
    if (result.log2 > 63)
        return result;
    // Few lines: each at least doubles the number.
    std::uint64_t product = 1;
    for (std::uint32_t number = in_flight.first_line(); number != model::kNone;
         number = in_flight.line(number).next)
        if (__builtin_mul_overflow(product, exact_of(in_flight, in_flight.line(number)), &product))
            return result;
    result.exact = product;
    return result;
}

} // namespace fencepost::states
