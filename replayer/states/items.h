// SPDX-License-Identifier: GPL-2.0-or-later
// What a power failure at one crash point leaves to chance: independent items with their levels.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "analyzer/model/in_flight.h"
#include "analyzer/model/line_choices.h"
#include "trace/block_writes.h"

namespace fencepost::states {

// Runs of lines that one piece of code wrote one after the other, as copying a file does, can be
// taken as one item, which tears at a few places only.
enum class Grouping : std::uint8_t {
    automatic, // runs of kLongRun lines or more
    run,       // any run of two lines or more
    off,       // no state is left out
};
inline constexpr std::size_t kLongRun = 16;

// Which states are generated of those whose only news is a run that is torn.
enum class Tearing : std::uint8_t {
    all,
    sampled, // few: where a torn write is legal, one is as good as another
};

std::string_view name_of(Grouping grouping);
std::optional<Grouping> grouping_named(std::string_view name);

// Level 0 is "nothing that is in flight", the last level "all of it".
struct Item {
    enum class Kind : std::uint8_t {
        chain, // a line whose pieces persist in order: a level is how many stores of it
        unit,  // a unit of a line that was written by non-temporal stores only
        mixed, // a line with cached and non-temporal stores: a level is a state of LineChoices
        run,   // several lines: a level is one of RunLevel, or a cut anywhere
    };
    Kind kind = Kind::chain;
    std::uint8_t unit = 0;
    std::uint32_t first_cell = 0;
    std::uint32_t cell_count = 1;
    std::uint64_t levels = 2;
};

// What of a run is there. The last level is all of it: that is the one after these, or 1 where the
// block driver wrote it. Going by addresses; stores of a cached line persist in order, so "unit"
// then means a store for what is before a cut, and a line for what is behind one.
enum RunLevel : std::uint64_t {
    kRunNone,
    kRunFirstUnit,
    kRunFirstHalf,
    kRunAllButLastUnit,
    kRunAllButFirstUnit,
    kRunSecondHalf,
    kRunLastUnit,
    kRunFirstPieces, // of every unit; only where units were written more than once
    // kRunCuts + 512 * N + 2 * M: N lines, and M units of the next one; 1 more: all but these.
    kRunCuts = 16,
};

struct RunPart {
    enum class Kind : std::uint8_t { before_cut, behind_cut, first_pieces };
    Kind kind = Kind::before_cut;
    std::uint64_t lines = 0; // before the cut
    std::uint64_t units = 0; // of the line after them
};

// A line in flight.
struct Cell {
    std::uint32_t number = 0; // InFlight::line()
    std::uint32_t first_item = 0;
    std::uint32_t item_count = 1;
};

struct ItemLevel {
    std::uint32_t item = 0;
    std::uint64_t level = 0;

    auto operator<=>(const ItemLevel &) const = default;
};

// The items of a crash point, in the order in which their lines came to be in flight. Numbers of
// items mean the same whenever the same trace is read with the same model and grouping.
class ItemTable {
public:
    // Both are borrowed: the table is good until the next event is applied. Runs of `sectors` do
    // not tear.
    void build(const model::InFlight &in_flight, Grouping grouping,
               const trace::BlockWrites &sectors = kNoSectors);

    std::span<const Item> items() const { return items_; }
    std::span<const Cell> cells() const { return cells_; }
    const model::InFlight &in_flight() const { return *in_flight_; }
    const model::InFlightLine &line(const Cell &cell) const
    {
        return in_flight_->line(cell.number);
    }
    std::size_t runs() const { return runs_; }
    std::size_t lines_in_runs() const { return lines_in_runs_; }
    double log2_states() const; // with runs as items

    static bool is_torn(const Item &item, std::uint64_t level)
    {
        return item.kind == Item::Kind::run && level != 0 && level != item.levels - 1;
    }
    // Also of cuts that no strategy but `random` makes.
    static bool has_level(const Item &item, std::uint64_t level);
    // Of a run; in each of its lines there is a place to cut.
    RunPart part_at(const Item &item, std::uint64_t level) const;
    static std::uint64_t level_of_cut(const RunPart &part);
    // Units (stores of a cached line) of a line in a run.
    std::uint64_t units_of(std::uint32_t cell) const;

    // What was written by one store of several units, or by a loop, and is no run: its lines as a
    // run of its own, which is not in items(). Neither sectors, nor lines with both kinds of
    // stores, nor what was last written before event `since`.
    std::vector<Item> copies(std::uint64_t since) const;
    // The levels of the items of such lines that make `level` of the copy.
    std::vector<ItemLevel> levels_of(const Item &copy, std::uint64_t level) const;
    // The levels of the cell's items that put so many pieces of each unit in PM. Not of a run.
    void add_levels(const Cell &cell, const model::UnitCounts &counts,
                    std::vector<ItemLevel> &levels) const;

    // How many pieces of each unit are in PM. `levels`: the levels of the cell's items, in order.
    model::UnitCounts unit_counts(const Cell &cell, std::span<const std::uint64_t> levels) const;

private:
    std::size_t run_length(std::size_t cell) const;
    std::uint64_t run_levels(std::uint32_t first_cell) const;
    bool is_copied(const model::InFlightLine &line) const;
    // Units of the line persist in any order.
    bool is_unordered(const model::InFlightLine &line) const;
    model::UnitCounts all_units(const model::InFlightLine &line) const;
    model::UnitCounts first_units(const model::InFlightLine &line, std::uint64_t units) const;
    model::UnitCounts without_first_units(const model::InFlightLine &line,
                                          std::uint64_t units) const;
    model::UnitCounts first_pieces(const model::InFlightLine &line) const;
    model::UnitCounts counts_in_run(const Cell &cell, const Item &item, std::uint64_t level) const;
    void add_line(std::uint32_t cell);

    inline static const trace::BlockWrites kNoSectors;

    const model::InFlight *in_flight_ = nullptr;
    const trace::BlockWrites *sectors_ = nullptr;
    std::vector<Item> items_;
    std::vector<Cell> cells_;
    std::size_t runs_ = 0;
    std::size_t lines_in_runs_ = 0;
};

} // namespace fencepost::states
