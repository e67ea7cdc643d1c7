// SPDX-License-Identifier: GPL-2.0-or-later
// What can tear though it is no run: see ItemTable::copies().
#include <algorithm>

#include "replayer/states/items.h"

namespace fencepost::states {

using model::InFlightLine;
using model::Piece;
using model::UnitCounts;

// Two pieces next to each other of one store, or of one instruction in a loop.
bool ItemTable::is_copied(const InFlightLine &at) const
{
    const Piece *before = nullptr;
    bool copied = false;
    in_flight_->for_each_piece(at, [&](const Piece &piece) {
        copied = copied || (before && piece.unit() == before->unit() + 1 &&
                            (piece.seq == before->seq || piece.site == before->site));
        before = &piece;
    });
    return copied;
}

std::vector<Item> ItemTable::copies(std::uint64_t since) const
{
    std::vector<Item> found;
    for (std::size_t cell = 0; cell < cells_.size();) {
        const Item &item = items_[cells_[cell].first_item];
        if (item.kind == Item::Kind::run) {
            cell += item.cell_count;
            continue;
        }
        if (item.kind == Item::Kind::mixed) {
            ++cell;
            continue;
        }
        const std::size_t length = run_length(cell);
        const auto is_new = [&](const Cell &each) {
            return in_flight_->piece(line(each).last).seq >= since;
        };
        const auto cells = std::span(cells_).subspan(cell, length);
        const Item copy = {.kind = Item::Kind::run,
                           .first_cell = static_cast<std::uint32_t>(cell),
                           .cell_count = static_cast<std::uint32_t>(length),
                           .levels = run_levels(static_cast<std::uint32_t>(cell))};
        if (copy.levels > 2 && std::any_of(cells.begin(), cells.end(), is_new) &&
            (length > 1 || is_copied(line(cells[0]))))
            found.push_back(copy);
        cell += length;
    }
    return found;
}

std::vector<ItemLevel> ItemTable::levels_of(const Item &copy, std::uint64_t level) const
{
    std::vector<ItemLevel> levels;
    for (std::uint32_t cell = copy.first_cell; cell < copy.first_cell + copy.cell_count; ++cell)
        add_levels(cells_[cell], counts_in_run(cells_[cell], copy, level), levels);
    return levels;
}

void ItemTable::add_levels(const Cell &cell, const UnitCounts &counts,
                           std::vector<ItemLevel> &levels) const
{
    for (std::uint32_t number = cell.first_item; number < cell.first_item + cell.item_count;
         ++number) {
        const Item &item = items_[number];
        std::uint64_t level = 0;
        if (item.kind == Item::Kind::unit) {
            level = counts[item.unit];
        } else if (item.kind == Item::Kind::mixed) {
            level = model::LineChoices(*in_flight_, line(cell)).number_of(counts);
        } else {
            UnitCounts left = counts;
            in_flight_->for_each_piece(line(cell), [&](const Piece &piece) {
                level += left[piece.unit()] != 0 && !piece.joined;
                left[piece.unit()] -= left[piece.unit()] != 0;
            });
        }
        levels.push_back({number, level});
    }
}

} // namespace fencepost::states
