// SPDX-License-Identifier: GPL-2.0-or-later
// See items.h.
#include "replayer/states/items.h"

#include <bit>
#include <cmath>

#include "base/error.h"

namespace fencepost::states {

using model::InFlight;
using model::InFlightLine;
using model::Piece;
using model::UnitCounts;

namespace {

constexpr std::string_view kGroupingNames[] = {"auto", "run", "off"};

} // namespace

std::string_view name_of(Grouping grouping)
{
    return kGroupingNames[static_cast<unsigned>(grouping)];
}

std::optional<Grouping> grouping_named(std::string_view name)
{
    for (unsigned i = 0; i < std::size(kGroupingNames); ++i)
        if (kGroupingNames[i] == name)
            return static_cast<Grouping>(i);
    return std::nullopt;
}

// How many cells from here on are neighbours in PM, written in the same way: the same sites first
// and last, as many pieces. An unrolled copy loop has several sites, so one is not enough.
std::size_t ItemTable::run_length(std::size_t cell) const
{
    const auto alike = [this](const InFlightLine &a, const InFlightLine &b) {
        return b.line == a.line + 1 && a.cached == b.cached && a.non_temporal == b.non_temporal &&
               in_flight_->piece(a.first).site == in_flight_->piece(b.first).site &&
               in_flight_->piece(a.last).site == in_flight_->piece(b.last).site;
    };
    std::size_t end = cell + 1;
    while (end < cells_.size() && !line(cells_[end]).mixed() &&
           alike(line(cells_[end - 1]), line(cells_[end])))
        ++end;
    return end - cell;
}

void ItemTable::add_line(std::uint32_t cell)
{
    const InFlightLine &at = line(cells_[cell]);
    cells_[cell].first_item = static_cast<std::uint32_t>(items_.size());
    Item item;
    item.first_cell = cell;
    if (in_flight_->order() == model::Order::line) {
        item.levels = 1;
        in_flight_->for_each_piece(at, [&](const Piece &piece) { item.levels += !piece.joined; });
        items_.push_back(item);
    } else if (at.non_temporal == 0) {
        item.levels = at.cached + 1ull;
        items_.push_back(item);
    } else if (at.mixed()) {
        item.kind = Item::Kind::mixed;
        item.levels = model::LineChoices(*in_flight_, at).count();
        items_.push_back(item);
    } else {
        const UnitCounts counts = all_units(at);
        item.kind = Item::Kind::unit;
        for (unsigned unit = 0; unit < model::kUnitsPerLine; ++unit) {
            if (counts[unit] == 0)
                continue;
            item.unit = static_cast<std::uint8_t>(unit);
            item.levels = counts[unit] + 1ull;
            items_.push_back(item);
        }
    }
    cells_[cell].item_count = static_cast<std::uint32_t>(items_.size()) - cells_[cell].first_item;
}

void ItemTable::build(const InFlight &in_flight, Grouping grouping,
                      const trace::BlockWrites &sectors)
{
    in_flight_ = &in_flight;
    sectors_ = &sectors;
    items_.clear();
    cells_.clear();
    runs_ = lines_in_runs_ = 0;
    for (std::uint32_t number = in_flight.first_line(); number != model::kNone;
         number = in_flight.line(number).next)
        cells_.push_back({.number = number});
    const std::size_t shortest = grouping == Grouping::run ? 2 : kLongRun;
    for (std::size_t cell = 0; cell < cells_.size();) {
        const std::size_t length =
            grouping == Grouping::off || line(cells_[cell]).mixed() ? 1 : run_length(cell);
        if (length < shortest) {
            for (const std::size_t end = cell + length; cell < end; ++cell)
                add_line(static_cast<std::uint32_t>(cell));
            continue;
        }
        for (std::size_t i = cell; i < cell + length; ++i)
            cells_[i].first_item = static_cast<std::uint32_t>(items_.size());
        items_.push_back({.kind = Item::Kind::run,
                          .first_cell = static_cast<std::uint32_t>(cell),
                          .cell_count = static_cast<std::uint32_t>(length),
                          .levels = run_levels(static_cast<std::uint32_t>(cell))});
        ++runs_;
        lines_in_runs_ += length;
        cell += length;
    }
}

// The lines of a run are alike.
std::uint64_t ItemTable::run_levels(std::uint32_t first_cell) const
{
    const InFlightLine &first = line(cells_[first_cell]);
    if (sectors_->contains(in_flight_->piece(first.first).stack))
        return 2;
    return kRunFirstPieces + (first_pieces(first) == all_units(first) ? 1 : 2);
}

bool ItemTable::has_level(const Item &item, std::uint64_t level)
{
    if (level < item.levels)
        return true;
    return item.levels > 2 && item.kind == Item::Kind::run && level >= kRunCuts &&
           (level - kRunCuts) / 512 < item.cell_count;
}

RunPart ItemTable::part_at(const Item &item, std::uint64_t level) const
{
    using Kind = RunPart::Kind;
    const std::uint64_t lines = item.cell_count;
    const auto last_cell = static_cast<std::uint32_t>(item.first_cell + lines - 1);
    const bool unordered = is_unordered(line(cells_[item.first_cell]));
    if (level == item.levels - 1)
        return {.lines = lines};
    switch (level) {
    case kRunNone:
        return {};
    case kRunFirstUnit:
        return {.units = 1};
    case kRunFirstHalf:
        return {.lines = lines / 2, .units = lines == 1 ? units_of(last_cell) / 2 : 0};
    case kRunAllButLastUnit:
        return {.lines = lines - 1, .units = units_of(last_cell) - 1};
    case kRunAllButFirstUnit:
        return unordered ? RunPart{Kind::behind_cut, 0, 1} : RunPart{Kind::behind_cut, 1};
    case kRunSecondHalf:
        return {Kind::behind_cut, lines / 2, lines == 1 ? units_of(last_cell) / 2 : 0};
    case kRunLastUnit:
        return {Kind::behind_cut, lines - 1, unordered ? units_of(last_cell) - 1 : 0};
    case kRunFirstPieces:
        return {Kind::first_pieces};
    default:
        return {(level - kRunCuts) % 2 ? Kind::behind_cut : Kind::before_cut,
                (level - kRunCuts) / 512, (level - kRunCuts) / 2 % 256};
    }
}

std::uint64_t ItemTable::level_of_cut(const RunPart &part)
{
    CHECK(part.units < 256, "a level has eight bits for the units of a line");
    return kRunCuts + part.lines * 512 + part.units * 2 + (part.kind == RunPart::Kind::behind_cut);
}

bool ItemTable::is_unordered(const InFlightLine &at) const
{
    return in_flight_->order() == model::Order::units && at.cached == 0;
}

std::uint64_t ItemTable::units_of(std::uint32_t cell) const
{
    const InFlightLine &at = line(cells_[cell]);
    std::uint64_t stores = 0;
    unsigned units = 0; // bit u
    in_flight_->for_each_piece(at, [&](const Piece &piece) {
        stores += !piece.joined;
        units |= 1u << piece.unit();
    });
    return is_unordered(at) ? static_cast<std::uint64_t>(std::popcount(units)) : stores;
}

UnitCounts ItemTable::all_units(const InFlightLine &at) const
{
    UnitCounts counts = {};
    in_flight_->for_each_piece(at, [&](const Piece &piece) { ++counts[piece.unit()]; });
    return counts;
}

UnitCounts ItemTable::first_units(const InFlightLine &at, std::uint64_t units) const
{
    if (is_unordered(at)) {
        UnitCounts counts = all_units(at);
        for (std::uint32_t &count : counts) {
            count = units == 0 ? 0 : count;
            units -= count != 0;
        }
        return counts;
    }
    UnitCounts counts = {};
    for (std::uint32_t i = at.first; i != model::kNone && units != 0;
         i = in_flight_->piece(i).next) {
        const Piece &piece = in_flight_->piece(i);
        ++counts[piece.unit()];
        units -= !piece.joined;
    }
    return counts;
}

// Without the first store of a cached line there is nothing of it.
UnitCounts ItemTable::without_first_units(const InFlightLine &at, std::uint64_t units) const
{
    if (!is_unordered(at))
        return {};
    UnitCounts counts = all_units(at);
    const UnitCounts missing = first_units(at, units);
    for (unsigned unit = 0; unit < model::kUnitsPerLine; ++unit)
        counts[unit] -= missing[unit];
    return counts;
}

// Of a cached line, the stores before one that writes to a unit again.
UnitCounts ItemTable::first_pieces(const InFlightLine &at) const
{
    UnitCounts counts = {};
    if (is_unordered(at)) {
        in_flight_->for_each_piece(at, [&](const Piece &piece) { counts[piece.unit()] = 1; });
        return counts;
    }
    std::uint64_t stores = 0;
    bool again = false;
    in_flight_->for_each_piece(at, [&](const Piece &piece) {
        again = again || counts[piece.unit()] != 0;
        counts[piece.unit()] = 1;
        stores += !again && !piece.joined;
    });
    return first_units(at, stores);
}

UnitCounts ItemTable::counts_in_run(const Cell &cell, const Item &item, std::uint64_t level) const
{
    const InFlightLine &at = line(cell);
    const RunPart part = part_at(item, level);
    if (part.kind == RunPart::Kind::first_pieces)
        return first_pieces(at);
    const bool behind = part.kind == RunPart::Kind::behind_cut;
    const auto place = static_cast<std::uint64_t>(&cell - &cells_[item.first_cell]);
    if (place == part.lines && part.units != 0)
        return behind ? without_first_units(at, part.units) : first_units(at, part.units);
    return (place < part.lines) != behind ? all_units(at) : UnitCounts{};
}

double ItemTable::log2_states() const
{
    double sum = 0;
    for (const Item &item : items_)
        sum += item.kind == Item::Kind::mixed
                   ? model::LineChoices(*in_flight_, line(cells_[item.first_cell])).log2_count()
                   : std::log2(static_cast<double>(item.levels));
    return sum;
}

UnitCounts ItemTable::unit_counts(const Cell &cell, std::span<const std::uint64_t> levels) const
{
    const InFlightLine &at = line(cell);
    const Item &item = items_[cell.first_item];
    UnitCounts counts = {};
    switch (item.kind) {
    case Item::Kind::chain:
        return first_units(at, levels[0]);
    case Item::Kind::unit:
        for (std::uint32_t i = 0; i < cell.item_count; ++i)
            counts[items_[cell.first_item + i].unit] = static_cast<std::uint32_t>(levels[i]);
        return counts;
    case Item::Kind::mixed:
        return model::LineChoices(*in_flight_, at).at(levels[0]);
    case Item::Kind::run:
        return counts_in_run(cell, item, levels[0]);
    }
    check_failed(__FILE__, __LINE__, "kind", "an item of no kind");
}

} // namespace fencepost::states
