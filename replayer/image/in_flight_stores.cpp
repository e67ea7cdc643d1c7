// SPDX-License-Identifier: GPL-2.0-or-later
// See in_flight_stores.h.
#include "replayer/image/in_flight_stores.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <utility>

namespace fencepost::image {

using model::Piece;
using model::UnitCounts;
using states::Cell;
using states::Item;

namespace {

constexpr std::uint32_t kNoRun = UINT32_MAX;

struct FoundPiece {
    std::uint64_t line;
    const Piece *piece;
    std::uint32_t run; // an item, or kNoRun
    std::uint64_t flush_seq;
};

std::uint64_t flush_of(const model::InFlightLine &line, const Piece &piece)
{
    if (piece.non_temporal != 0)
        return piece.seq;
    return line.last_flush.seq > piece.seq ? line.last_flush.seq : kNoFlush;
}

} // namespace

InFlightStores::InFlightStores(const states::ItemTable &items)
{
    std::vector<FoundPiece> found;
    for (const Cell &cell : items.cells()) {
        const bool in_run = items.items()[cell.first_item].kind == Item::Kind::run;
        const model::InFlightLine &line = items.line(cell);
        items.in_flight().for_each_piece(line, [&](const Piece &piece) {
            found.push_back(
                {line.line, &piece, in_run ? cell.first_item : kNoRun, flush_of(line, piece)});
        });
    }
    std::vector<std::uint32_t> in_order(found.size());
    std::iota(in_order.begin(), in_order.end(), 0);
    std::stable_sort(in_order.begin(), in_order.end(), [&](std::uint32_t a, std::uint32_t b) {
        return found[a].piece->seq < found[b].piece->seq;
    });
    std::unordered_map<std::uint32_t, std::uint32_t> store_of_run;
    by_line_.resize(found.size());
    std::uint64_t latest = UINT64_MAX; // seq of the store that was added last, if it is in no run
    for (const std::uint32_t number : in_order) {
        const auto &[line, piece, run, flush_seq] = found[number];
        auto store = static_cast<std::uint32_t>(stores_.size());
        if (run != kNoRun)
            store = store_of_run.try_emplace(run, store).first->second;
        else if (piece->seq == latest)
            --store;
        if (store == stores_.size()) {
            stores_.push_back({piece->seq, piece->site, piece->stack});
            latest = run == kNoRun ? piece->seq : UINT64_MAX;
        }
        by_line_[number] = static_cast<std::uint32_t>(parts_.size());
        parts_.push_back({line, piece->value, store, piece->offset, piece->size, flush_seq});
    }
}

PartChoice InFlightStores::parts_of(const states::StateView &state,
                                    const states::ItemTable &items) const
{
    PartChoice present(parts_.size(), state.levels.base == states::Base::all);
    if (state.levels.exceptions.empty())
        return present;
    std::vector<std::uint64_t> levels;
    auto number = by_line_.begin();
    for (const Cell &cell : items.cells()) {
        levels.clear();
        for (std::uint32_t item = cell.first_item; item < cell.first_item + cell.item_count; ++item)
            levels.push_back(level_of(state, item));
        UnitCounts left = items.unit_counts(cell, levels);
        items.in_flight().for_each_piece(items.line(cell), [&](const Piece &piece) {
            std::uint32_t &of_unit = left[piece.unit()];
            present[*number++] = of_unit != 0;
            of_unit -= of_unit != 0;
        });
    }
    return present;
}

std::vector<trace::EventRef>
first_of_each_kind(const StateStores &state, bool present,
                   const std::function<bool(const trace::EventRef &)> &is_new)
{
    std::vector<trace::EventRef> found;
    const auto parts = state.in_flight->parts();
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const trace::EventRef &store = state.in_flight->stores()[parts[i].store];
        if (state.present[i] == present && is_new(store))
            found.push_back(store);
    }
    return found;
}

} // namespace fencepost::image
