// SPDX-License-Identifier: GPL-2.0-or-later
// See state_images.h.
#include "replayer/image/state_images.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace fencepost::image {

using model::InFlightLine;
using model::Piece;
using model::UnitCounts;
using states::Base;
using states::Cell;
using states::Item;
using states::ItemLevel;
using trace::kLineBytes;
using trace::kUnitBytes;

namespace {

constexpr std::uint32_t kUnknown = UINT32_MAX;
// Longer chains are put together when asked for: most of their levels never are.
constexpr std::uint64_t kMostLevels = 1024;

} // namespace

void StateImages::crash_point(const states::ItemTable *items, const model::InFlight &in_flight)
{
    if (pair_.written().outside() != 0)
        fail(ErrorKind::trace, "the trace has {} stores outside of its PM regions",
             pair_.written().outside());
    items_ = items;
    in_flight_ = &in_flight;
    guaranteed_ = pair_.guaranteed().hash();
    written_ = pair_.written().hash();
    cells_.clear();
    differences_.clear();
    first_difference_.clear();
    if (items) {
        cells_.resize(items->cells().size());
        first_difference_.resize(items->items().size(), kUnknown);
    }
}

const StateImages::CellHashes &StateImages::cell_hashes(std::uint32_t cell)
{
    CellHashes &hashes = cells_[cell];
    if (!hashes.known) {
        const std::uint64_t line = items_->line(items_->cells()[cell]).line;
        hashes = {true, line_hash(line, pair_.guaranteed().line(line)),
                  line_hash(line, pair_.written().line(line))};
    }
    return hashes;
}

// The first `counts` pieces of each unit, on top of `content`.
void StateImages::apply_units(const Cell &cell, const UnitCounts &counts, std::byte *content)
{
    UnitCounts left = counts;
    in_flight_->for_each_piece(items_->line(cell), [&](const Piece &piece) {
        if (left[piece.unit()] != 0) {
            --left[piece.unit()];
            piece.write_to(content);
        }
    });
}

void StateImages::compose(const Cell &cell, Base base, std::span<const ItemLevel> exceptions,
                          std::byte *content)
{
    const std::uint64_t line = items_->line(cell).line;
    const std::byte *guaranteed = pair_.guaranteed().line(line);
    const std::span<const Item> items = items_->items();
    if (items[cell.first_item].kind != Item::Kind::unit) {
        const std::uint64_t levels[] = {exceptions[0].level};
        std::memcpy(content, guaranteed, kLineBytes);
        apply_units(cell, items_->unit_counts(cell, levels), content);
        return;
    }
    std::memcpy(content, base == Base::none ? guaranteed : pair_.written().line(line), kLineBytes);
    UnitCounts counts = {};
    for (const ItemLevel &exception : exceptions) {
        const std::size_t at = items[exception.item].unit * std::size_t{kUnitBytes};
        std::memcpy(content + at, guaranteed + at, kUnitBytes);
        counts[items[exception.item].unit] = static_cast<std::uint32_t>(exception.level);
    }
    apply_units(cell, counts, content);
}

// Against level 0.
Hash128 StateImages::chain_change(const Item &item, std::uint32_t number, std::uint64_t level)
{
    const InFlightLine &line = items_->line(items_->cells()[item.first_cell]);
    const Hash128 &guaranteed = cell_hashes(item.first_cell).guaranteed;
    if (first_difference_[number] == kUnknown) {
        first_difference_[number] = static_cast<std::uint32_t>(differences_.size());
        std::array<std::byte, kLineBytes> content;
        std::memcpy(content.data(), pair_.guaranteed().line(line.line), kLineBytes);
        differences_.push_back({});
        in_flight_->for_each_piece(line, [&](const Piece &piece) {
            piece.write_to(content.data());
            if (!piece.joined)
                differences_.push_back(line_hash(line.line, content.data()) - guaranteed);
        });
    }
    return differences_[first_difference_[number] + level];
}

// Against level 0.
Hash128 StateImages::run_change(const Item &item, std::uint32_t number, std::uint64_t level)
{
    if (level == 0)
        return {};
    if (first_difference_[number] == kUnknown) {
        // The first line, the first two, and so on.
        first_difference_[number] = static_cast<std::uint32_t>(differences_.size());
        Hash128 sum;
        differences_.push_back(sum);
        for (std::uint32_t cell = item.first_cell; cell < item.first_cell + item.cell_count;
             ++cell) {
            sum += cell_hashes(cell).written - cell_hashes(cell).guaranteed;
            differences_.push_back(sum);
        }
    }
    const auto torn_line = [&](std::uint64_t place) {
        const std::uint32_t torn = item.first_cell + static_cast<std::uint32_t>(place);
        const ItemLevel exceptions[] = {{number, level}};
        std::array<std::byte, kLineBytes> content;
        compose(items_->cells()[torn], Base::none, exceptions, content.data());
        return line_hash(items_->line(items_->cells()[torn]).line, content.data()) -
               cell_hashes(torn).guaranteed;
    };
    const std::span<const Hash128> first_lines =
        std::span(differences_).subspan(first_difference_[number], item.cell_count + 1);
    const states::RunPart part = items_->part_at(item, level);
    Hash128 sum;
    switch (part.kind) {
    case states::RunPart::Kind::before_cut:
        sum = first_lines[part.lines];
        break;
    case states::RunPart::Kind::behind_cut:
        sum = first_lines.back() - first_lines[part.lines + (part.units != 0)];
        break;
    case states::RunPart::Kind::first_pieces:
        for (std::uint64_t place = 0; place < item.cell_count; ++place)
            sum += torn_line(place);
        break;
    }
    if (part.units != 0)
        sum += torn_line(part.lines);
    return sum;
}

// What the exceptions of one item, or of the unit items of one line, change about the base.
Hash128 StateImages::change(Base base, std::span<const ItemLevel> exceptions)
{
    const std::uint32_t number = exceptions[0].item;
    const Item &item = items_->items()[number];
    if (item.kind == Item::Kind::run) {
        const Hash128 there = run_change(item, number, exceptions[0].level);
        return base == Base::none ? there : there - run_change(item, number, item.levels - 1);
    }
    const CellHashes &hashes = cell_hashes(item.first_cell);
    const Hash128 &before = base == Base::none ? hashes.guaranteed : hashes.written;
    if (item.kind == Item::Kind::chain && item.levels <= kMostLevels)
        return chain_change(item, number, exceptions[0].level) + hashes.guaranteed - before;
    std::array<std::byte, kLineBytes> content;
    const Cell &cell = items_->cells()[item.first_cell];
    compose(cell, base, exceptions, content.data());
    return line_hash(items_->line(cell).line, content.data()) - before;
}

namespace {

// Calls visit(exceptions) for each item, or line of unit items, that exceptions are about.
template <typename Visit>
void by_cell(const states::ItemTable &table, std::span<const ItemLevel> exceptions, Visit &&visit)
{
    for (std::size_t i = 0; i < exceptions.size();) {
        const std::uint32_t cell = table.items()[exceptions[i].item].first_cell;
        std::size_t end = i + 1;
        while (end < exceptions.size() && table.items()[exceptions[end].item].first_cell == cell)
            ++end;
        visit(exceptions.subspan(i, end - i));
        i = end;
    }
}

} // namespace

Hash128 StateImages::hash(const states::StateView &state)
{
    Hash128 sum = state.levels.base == Base::none ? guaranteed_ : written_;
    if (!state.levels.exceptions.empty())
        by_cell(*items_, state.levels.exceptions, [&](std::span<const ItemLevel> exceptions) {
            sum += change(state.levels.base, exceptions);
        });
    return sum;
}

void StateImages::lines_in_flight(const states::StateView &state, std::vector<LineContent> &lines)
{
    lines.clear();
    const auto add = [&](std::uint64_t line) -> std::byte * {
        lines.push_back({.line = line});
        return lines.back().bytes.data();
    };
    std::vector<bool> done;
    if (!state.levels.exceptions.empty()) {
        done.resize(items_->cells().size());
        by_cell(*items_, state.levels.exceptions, [&](std::span<const ItemLevel> exceptions) {
            const Item &item = items_->items()[exceptions[0].item];
            for (std::uint32_t cell = item.first_cell; cell < item.first_cell + item.cell_count;
                 ++cell) {
                done[cell] = true;
                const Cell &at = items_->cells()[cell];
                compose(at, state.levels.base, exceptions, add(items_->line(at).line));
            }
        });
    }
    if (state.levels.base == Base::none)
        return;
    std::size_t cell = 0;
    for (std::uint32_t number = in_flight_->first_line(); number != model::kNone;
         number = in_flight_->line(number).next, ++cell) {
        if (!done.empty() && done[cell])
            continue;
        const std::uint64_t line = in_flight_->line(number).line;
        std::memcpy(add(line), pair_.written().line(line), kLineBytes);
    }
}

std::vector<LineContent> StateImages::difference_from_initial(const states::StateView &state)
{
    std::vector<LineContent> in_flight;
    lines_in_flight(state, in_flight);
    std::sort(in_flight.begin(), in_flight.end(),
              [](const LineContent &a, const LineContent &b) { return a.line < b.line; });
    PmCopy initial(initial_);
    std::vector<LineContent> lines;
    auto next = in_flight.begin();
    pair_.written().for_each_written([&](std::uint64_t line) {
        while (next != in_flight.end() && next->line < line)
            ++next;
        const std::byte *bytes = next != in_flight.end() && next->line == line
                                     ? next->bytes.data()
                                     : pair_.guaranteed().line(line);
        if (std::memcmp(bytes, initial.line(line), kLineBytes) == 0)
            return;
        lines.push_back({.line = line});
        std::memcpy(lines.back().bytes.data(), bytes, kLineBytes);
    });
    return lines;
}

} // namespace fencepost::image
