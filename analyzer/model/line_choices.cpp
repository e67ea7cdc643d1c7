// SPDX-License-Identifier: GPL-2.0-or-later
// See line_choices.h.
#include "analyzer/model/line_choices.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace fencepost::model {

namespace {

std::uint64_t saturating_add(std::uint64_t a, std::uint64_t b)
{
    std::uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

std::uint64_t saturating_multiply(std::uint64_t a, std::uint64_t b)
{
    std::uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

} // namespace

void LineChoices::add_range(const UnitCounts &least, const UnitCounts &most)
{
    std::uint64_t count = 1;
    for (unsigned unit = 0; unit < kUnitsPerLine; ++unit)
        count = saturating_multiply(count, most[unit] - least[unit] + 1);
    ranges_.push_back({least, most, count});
    count_ = saturating_add(count_, count);
}

void LineChoices::assign(const InFlight &in_flight, const InFlightLine &line)
{
    ranges_.clear();
    count_ = 0;
    if (in_flight.order() == Order::line)
        add_stores(in_flight, line);
    else
        add_cached_prefixes(in_flight, line);
    log2_count_ = count_ == UINT64_MAX ? log2_sum() : std::log2(static_cast<double>(count_));
}

// A state after each store and one before the first.
void LineChoices::add_stores(const InFlight &in_flight, const InFlightLine &line)
{
    UnitCounts reached = {};
    add_range(reached, reached);
    in_flight.for_each_piece(line, [&](const Piece &piece) {
        ++reached[piece.unit()];
        if (!piece.joined)
            add_range(reached, reached);
    });
}

void LineChoices::add_cached_prefixes(const InFlight &in_flight, const InFlightLine &line)
{
    stops_.clear();
    UnitCounts most = {};
    in_flight.for_each_piece(line, [&](const Piece &piece) {
        const std::uint32_t place = most[piece.unit()]++;
        if (!piece.non_temporal)
            stops_.push_back({piece.unit(), place, 0});
    });
    for (std::size_t i = stops_.size(); i-- > 0;) {
        stops_[i].next = most[stops_[i].unit];
        most[stops_[i].unit] = stops_[i].place;
    }
    UnitCounts least = {};
    add_range(least, most);
    for (const Stop &stop : stops_) {
        least[stop.unit] = stop.place + 1;
        most[stop.unit] = stop.next;
        add_range(least, most);
    }
}

double LineChoices::log2_sum() const
{
    std::vector<double> logs;
    double largest = 0;
    for (const Range &range : ranges_) {
        double log = 0;
        for (unsigned unit = 0; unit < kUnitsPerLine; ++unit)
            log += std::log2(static_cast<double>(range.most[unit] - range.least[unit]) + 1);
        logs.push_back(log);
        largest = std::max(largest, log);
    }
    double sum = 0; // in multiples of the largest
    for (const double log : logs)
        sum += std::exp2(log - largest);
    return largest + std::log2(sum);
}

UnitCounts LineChoices::at(std::uint64_t number) const
{
    for (const Range &range : ranges_) {
        if (number >= range.count) {
            number -= range.count;
            continue;
        }
        UnitCounts counts = range.least;
        for (unsigned unit = 0; unit < kUnitsPerLine; ++unit) {
            const std::uint64_t choices = range.most[unit] - range.least[unit] + 1ull;
            counts[unit] += static_cast<std::uint32_t>(number % choices);
            number /= choices;
        }
        return counts;
    }
    check_failed(__FILE__, __LINE__, "number < count()", "a state that the line does not have");
}

bool LineChoices::Range::contains(const UnitCounts &counts) const
{
    for (unsigned unit = 0; unit < kUnitsPerLine; ++unit)
        if (counts[unit] < least[unit] || counts[unit] > most[unit])
            return false;
    return true;
}

std::uint64_t LineChoices::number_of(const UnitCounts &counts) const
{
    std::uint64_t before = 0;
    for (const Range &range : ranges_) {
        if (!range.contains(counts)) {
            before = saturating_add(before, range.count);
            continue;
        }
        std::uint64_t number = 0;
        for (unsigned unit = kUnitsPerLine; unit-- > 0;) {
            const std::uint64_t choices = range.most[unit] - range.least[unit] + 1ull;
            number = saturating_add(saturating_multiply(number, choices),
                                    counts[unit] - range.least[unit]);
        }
        return saturating_add(before, number);
    }
    check_failed(__FILE__, __LINE__, "legal(counts)", "a state that the line does not have");
}

bool LineChoices::legal(const UnitCounts &counts) const
{
    return std::any_of(ranges_.begin(), ranges_.end(),
                       [&](const Range &range) { return range.contains(counts); });
}

} // namespace fencepost::model
