// SPDX-License-Identifier: GPL-2.0-or-later
// See store_differences.h.
#include "replayer/test/store_differences.h"

#include <array>
#include <cstring>
#include <map>
#include <set>
#include <utility>

namespace fencepost::test {

using model::Piece;
using model::UnitCounts;
using states::Levels;

namespace {

struct FoundPiece {
    Piece piece;
    bool persisted = false; // in the failing state
    StoredBytes bytes;
};

std::vector<std::byte> bytes_at(const std::byte *line, const Piece &piece)
{
    return {line + piece.offset, line + piece.offset + piece.size};
}

UnitCounts counts_of(const states::ItemTable &table, const states::Cell &cell, const Levels &levels)
{
    return table.unit_counts(cell, std::span(levels).subspan(cell.first_item, cell.item_count));
}

// Of one line, with what is there before each.
void find_pieces(image::OpenPoint &point, const states::Cell &cell, const Levels &failing,
                 const Levels &other, std::vector<FoundPiece> &found)
{
    const states::ItemTable &table = point.items();
    UnitCounts left_failing = counts_of(table, cell, failing);
    UnitCounts left_other = counts_of(table, cell, other);
    const std::uint64_t line = table.line(cell).line;
    std::array<std::byte, trace::kLineBytes> content;
    std::memcpy(content.data(), point.guaranteed(line), content.size());
    table.in_flight().for_each_piece(table.line(cell), [&](const Piece &piece) {
        const bool in_failing = left_failing[piece.unit()] != 0;
        const bool in_other = left_other[piece.unit()] != 0;
        left_failing[piece.unit()] -= in_failing;
        left_other[piece.unit()] -= in_other;
        StoredBytes bytes = {
            line * trace::kLineBytes + piece.offset, bytes_at(content.data(), piece), {}};
        piece.write_to(content.data());
        bytes.after = bytes_at(content.data(), piece);
        if (in_failing != in_other)
            found.push_back({piece, in_failing, std::move(bytes)});
    });
}

void add_bytes(std::vector<StoredBytes> &ranges, StoredBytes more)
{
    if (ranges.empty() || ranges.back().address + ranges.back().after.size() != more.address) {
        ranges.push_back(std::move(more));
        return;
    }
    StoredBytes &last = ranges.back();
    last.before.insert(last.before.end(), more.before.begin(), more.before.end());
    last.after.insert(last.after.end(), more.after.begin(), more.after.end());
}

} // namespace

std::vector<MinimalStore> stores_between(image::OpenPoint &point, const Levels &failing,
                                         const Levels &other, const symbols::CodeNames &names,
                                         const Operations &operations)
{
    using Key = std::pair<std::uint64_t, bool>; // event, persisted
    std::map<Key, MinimalStore> stores;
    std::set<Key> meant;
    for (const states::Cell &cell : point.items().cells()) {
        std::vector<FoundPiece> found;
        find_pieces(point, cell, failing, other, found);
        // In a line what persists brings along all that was stored before, and what is lost all
        // that was stored later.
        for (std::size_t i = 0; i < found.size(); ++i) {
            const auto &[piece, persisted, bytes] = found[i];
            const Key key = {piece.seq, persisted};
            MinimalStore &store = stores[key];
            store.at.role = persisted ? kPersisted : kLost;
            store.at.at.event = {piece.seq, piece.site, piece.stack};
            store.non_temporal = piece.non_temporal != 0;
            add_bytes(store.bytes, bytes);
            if (persisted ? i + 1 == found.size() : i == 0)
                meant.insert(key);
        }
    }
    std::vector<MinimalStore> in_order;
    for (auto &[key, store] : stores) {
        store.at.at = names.place(store.at.at.event);
        store.at.operation = operations.at(key.first);
        store.implied = !meant.contains(key);
        in_order.push_back(std::move(store));
    }
    return in_order;
}

} // namespace fencepost::test
