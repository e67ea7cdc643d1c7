// SPDX-License-Identifier: GPL-2.0-or-later
// See missing.h.
#include "replayer/states/missing.h"

#include <algorithm>
#include <unordered_map>

namespace fencepost::states {

using model::Piece;
using model::UnitCounts;

namespace {

class FirstOfEachSite {
public:
    void add(const Piece &piece)
    {
        const auto [at, is_new] = index_.try_emplace(piece.site, found_.size());
        if (is_new)
            found_.push_back({piece.seq, piece.site, piece.stack});
        else if (piece.seq < found_[at->second].seq)
            found_[at->second] = {piece.seq, piece.site, piece.stack};
    }
    std::vector<MissingStore> sorted()
    {
        std::sort(found_.begin(), found_.end(),
                  [](const MissingStore &a, const MissingStore &b) { return a.seq < b.seq; });
        return std::move(found_);
    }

private:
    std::unordered_map<trace::SiteId, std::size_t> index_;
    std::vector<MissingStore> found_;
};

} // namespace

std::vector<MissingStore> missing_stores(const State &state, const model::InFlight &in_flight)
{
    const ChosenLevels &levels = state.levels;
    FirstOfEachSite found;
    if (levels.exceptions.empty() && levels.base == Base::all)
        return {};
    if (levels.exceptions.empty()) {
        for (std::uint32_t number = in_flight.first_line(); number != model::kNone;
             number = in_flight.line(number).next)
            in_flight.for_each_piece(in_flight.line(number),
                                     [&](const Piece &piece) { found.add(piece); });
        return found.sorted();
    }
    const ItemTable &table = *state.items;
    std::vector<std::uint64_t> of_cell;
    for (const Cell &cell : table.cells()) {
        of_cell.clear();
        for (std::uint32_t item = cell.first_item; item < cell.first_item + cell.item_count; ++item)
            of_cell.push_back(level_of(state, item));
        UnitCounts left = table.unit_counts(cell, of_cell);
        in_flight.for_each_piece(table.line(cell), [&](const Piece &piece) {
            if (left[piece.unit()] != 0)
                --left[piece.unit()];
            else
                found.add(piece);
        });
    }
    return found.sorted();
}

} // namespace fencepost::states
