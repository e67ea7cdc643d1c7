// SPDX-License-Identifier: GPL-2.0-or-later
// See line_points.h.
#include "replayer/states/line_points.h"

#include <algorithm>
#include <cstring>

namespace fencepost::states {

using model::kUnitsPerLine;
using model::Order;
using trace::kLineBytes;
using trace::kUnitBytes;

void LinePoints::find(const LineHistory &line, const std::byte *wanted,
                      std::span<const std::uint64_t> points, std::span<std::uint8_t> possible)
{
    points_ = points;
    possible_ = possible;
    std::fill(possible.begin(), possible.end(), std::uint8_t{0});
    const bool chain = order_ == Order::line ||
                       std::none_of(line.pieces.begin(), line.pieces.end(),
                                    [](const TimedPiece &each) { return each.piece.non_temporal; });
    if (chain)
        prefixes(line, wanted);
    else
        units(line, wanted);
}

void LinePoints::mark(std::uint64_t first, std::uint64_t last, std::span<std::uint8_t> flags) const
{
    const auto from = std::lower_bound(points_.begin(), points_.end(), first);
    const auto to = std::upper_bound(from, points_.end(), last);
    std::fill(flags.begin() + (from - points_.begin()), flags.begin() + (to - points_.begin()),
              std::uint8_t{1});
}

void LinePoints::prefixes(const LineHistory &line, const std::byte *wanted)
{
    std::array<std::byte, kLineBytes> content = line.before;
    std::uint64_t first = 0;
    bool whole = true;
    for (std::size_t i = 0;; ++i) {
        const bool end = i == line.pieces.size();
        if (whole && std::memcmp(content.data(), wanted, kLineBytes) == 0)
            mark(first, end ? UINT64_MAX : line.pieces[i].guaranteed, possible_);
        if (end)
            return;
        const model::Piece &piece = line.pieces[i].piece;
        piece.write_to(content.data());
        first = piece.seq + 1;
        whole = !piece.joined;
    }
}

void LinePoints::make_steps(const LineHistory &line, const std::byte *wanted)
{
    std::array<std::byte, kLineBytes> content = line.before;
    const auto matches = [&](unsigned unit) {
        return std::memcmp(content.data() + unit * kUnitBytes, wanted + unit * kUnitBytes,
                           kUnitBytes) == 0;
    };
    for (unsigned unit = 0; unit < kUnitsPerLine; ++unit) {
        units_[unit].steps.assign(1, {.matches = matches(unit)});
        units_[unit].cached.clear();
        units_[unit].next = 0;
    }
    for (const TimedPiece &each : line.pieces) {
        Unit &unit = units_[each.piece.unit()];
        each.piece.write_to(content.data());
        unit.steps.back().last = each.guaranteed;
        if (!each.piece.non_temporal)
            unit.cached.push_back(static_cast<std::uint32_t>(unit.steps.size()));
        unit.steps.push_back({.first = each.piece.seq + 1, .matches = matches(each.piece.unit())});
    }
}

// The steps between the last cached piece that is there and the first that is not.
void LinePoints::look_at_unit(unsigned number)
{
    const Unit &unit = units_[number];
    std::vector<std::uint8_t> &flags = of_unit_[number];
    flags.assign(points_.size(), 0);
    const std::size_t first = unit.next == 0 ? 0 : unit.cached[unit.next - 1];
    const std::size_t end =
        unit.next == unit.cached.size() ? unit.steps.size() : unit.cached[unit.next];
    for (std::size_t i = first; i < end; ++i)
        if (unit.steps[i].matches)
            mark(unit.steps[i].first, unit.steps[i].last, flags);
}

void LinePoints::add_product()
{
    for (std::size_t i = 0; i < points_.size(); ++i)
        possible_[i] |= static_cast<std::uint8_t>(
            std::all_of(of_unit_.begin(), of_unit_.end(),
                        [i](const std::vector<std::uint8_t> &flags) { return flags[i] != 0; }));
}

void LinePoints::units(const LineHistory &line, const std::byte *wanted)
{
    make_steps(line, wanted);
    for (unsigned unit = 0; unit < kUnitsPerLine; ++unit)
        look_at_unit(unit);
    add_product();
    for (const TimedPiece &each : line.pieces) {
        if (each.piece.non_temporal)
            continue;
        ++units_[each.piece.unit()].next;
        look_at_unit(each.piece.unit());
        add_product();
    }
}

} // namespace fencepost::states
