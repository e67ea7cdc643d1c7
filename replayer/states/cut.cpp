// SPDX-License-Identifier: GPL-2.0-or-later
// See cut.h.
#include "replayer/states/cut.h"

#include <algorithm>

namespace fencepost::states {

using model::Piece;
using model::UnitCounts;

namespace {

class Cutter {
public:
    Cutter(const StateView &state, Choice::Cut cut, std::uint64_t cut_seq)
        : state_(state), table_(*state.items), cut_(cut), cut_seq_(cut_seq)
    {
    }

    std::vector<ItemLevel> run()
    {
        for (std::uint32_t cell = 0; cell < table_.cells().size();) {
            const Cell &at = table_.cells()[cell];
            const Item &item = table_.items()[at.first_item];
            if (item.kind == Item::Kind::run) {
                add_run(at.first_item, item);
                cell += item.cell_count;
            } else {
                add_line(at);
                ++cell;
            }
        }
        return std::move(levels_);
    }

private:
    bool present(bool was_present, std::uint64_t seq) const
    {
        const bool early = seq <= cut_seq_;
        return cut_ == Choice::Cut::only_until ? was_present && early : was_present || early;
    }

    void add(std::uint32_t item, std::uint64_t level)
    {
        if (level != 0)
            levels_.push_back({item, level});
    }

    void add_run(std::uint32_t number, const Item &item)
    {
        std::uint64_t first = UINT64_MAX;
        for (std::uint32_t cell = item.first_cell; cell < item.first_cell + item.cell_count; ++cell)
            table_.in_flight().for_each_piece(
                table_.line(table_.cells()[cell]),
                [&](const Piece &piece) { first = std::min(first, piece.seq); });
        const std::uint64_t level = level_of(state_, number);
        if (cut_ == Choice::Cut::only_until)
            add(number, first <= cut_seq_ ? level : 0);
        else
            add(number, first <= cut_seq_ ? item.levels - 1 : level);
    }

    void add_line(const Cell &cell)
    {
        old_levels_.clear();
        for (std::uint32_t i = 0; i < cell.item_count; ++i)
            old_levels_.push_back(level_of(state_, cell.first_item + i));
        UnitCounts left = table_.unit_counts(cell, old_levels_);
        UnitCounts counts = {};
        table_.in_flight().for_each_piece(table_.line(cell), [&](const Piece &piece) {
            const bool was_present = left[piece.unit()] != 0;
            left[piece.unit()] -= was_present;
            counts[piece.unit()] += present(was_present, piece.seq);
        });
        new_levels_.clear();
        table_.add_levels(cell, counts, new_levels_);
        for (const ItemLevel &each : new_levels_)
            add(each.item, each.level);
    }

    const StateView &state_;
    const ItemTable &table_;
    const Choice::Cut cut_;
    const std::uint64_t cut_seq_;
    std::vector<std::uint64_t> old_levels_;
    std::vector<ItemLevel> new_levels_;
    std::vector<ItemLevel> levels_;
};

} // namespace

std::vector<ItemLevel> cut_levels(const StateView &state, Choice::Cut cut, std::uint64_t cut_seq)
{
    return Cutter(state, cut, cut_seq).run();
}

} // namespace fencepost::states
