// SPDX-License-Identifier: GPL-2.0-or-later
// See legality.h.
#include "replayer/states/legality.h"

#include <algorithm>

namespace fencepost::states {

using model::InFlightLine;
using model::Piece;
using model::UnitCounts;

void Legality::crash_point(const model::InFlight &in_flight)
{
    floors_.clear();
    const model::InFlight &strict = model_->in_flight();
    std::size_t cell = 0;
    for (std::uint32_t number = in_flight.first_line(); number != model::kNone;
         number = in_flight.line(number).next, ++cell) {
        const InFlightLine &line = in_flight.line(number);
        const std::uint32_t there = strict.find(line.line);
        if (there != model::kNone && strict.line(there).pieces() == line.pieces())
            continue;
        // The stricter model has some of these pieces, in the same order.
        std::uint32_t next = there == model::kNone ? model::kNone : strict.line(there).first;
        Floor floor = {cell, {}};
        in_flight.for_each_piece(line, [&](const Piece &piece) {
            if (next != model::kNone && strict.piece(next).seq == piece.seq &&
                strict.piece(next).offset == piece.offset)
                next = strict.piece(next).next;
            else
                ++floor.least[piece.unit()];
        });
        floors_.push_back(floor);
    }
}

bool Legality::legal_architecturally(const State &state) const
{
    const auto &levels = state.levels;
    if (floors_.empty() || (levels.base == Base::all && levels.exceptions.empty()))
        return true;
    if (levels.exceptions.empty())
        return false;
    const ItemTable &table = *state.items;
    std::vector<std::uint64_t> of_cell;
    return std::all_of(floors_.begin(), floors_.end(), [&](const Floor &floor) {
        const Cell &cell = table.cells()[floor.cell];
        of_cell.clear();
        for (std::uint32_t item = cell.first_item; item < cell.first_item + cell.item_count; ++item)
            of_cell.push_back(level_of(state, item));
        const UnitCounts counts = table.unit_counts(cell, of_cell);
        for (unsigned unit = 0; unit < model::kUnitsPerLine; ++unit)
            if (counts[unit] < floor.least[unit])
                return false;
        return true;
    });
}

} // namespace fencepost::states
