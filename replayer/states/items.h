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

namespace fencepost::states {

// Runs of lines that one piece of code wrote one after the other, as copying a file does, can be
// taken as one item: all of it or nothing.
enum class Grouping : std::uint8_t {
    automatic, // runs of kLongRun lines or more
    run,       // any run of two lines or more
    off,       // no state is left out
};
inline constexpr std::size_t kLongRun = 16;

std::string_view name_of(Grouping grouping);
std::optional<Grouping> grouping_named(std::string_view name);

// Level 0 is "nothing that is in flight", the last level "all of it".
struct Item {
    enum class Kind : std::uint8_t {
        chain, // a line whose pieces persist in order: a level is how many stores of it
        unit,  // a unit of a line that was written by non-temporal stores only
        mixed, // a line with cached and non-temporal stores: a level is a state of LineChoices
        run,   // several lines, nothing or all
    };
    Kind kind = Kind::chain;
    std::uint8_t unit = 0;
    std::uint32_t first_cell = 0;
    std::uint32_t cell_count = 1;
    std::uint64_t levels = 2;
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
    // `in_flight` is borrowed: the table is good until the next event is applied.
    void build(const model::InFlight &in_flight, Grouping grouping);

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

    // How many pieces of each unit are in PM. `levels`: the levels of the cell's items, in order.
    model::UnitCounts unit_counts(const Cell &cell, std::span<const std::uint64_t> levels) const;

private:
    std::size_t run_length(std::size_t cell) const;
    void add_line(std::uint32_t cell);

    const model::InFlight *in_flight_ = nullptr;
    std::vector<Item> items_;
    std::vector<Cell> cells_;
    std::size_t runs_ = 0;
    std::size_t lines_in_runs_ = 0;
};

} // namespace fencepost::states
