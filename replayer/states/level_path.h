// SPDX-License-Identifier: GPL-2.0-or-later
// The way from one state of a crash point to another, store by store, through legal states only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "replayer/states/crash_state.h"
#include "replayer/states/items.h"
#include "replayer/states/state_view.h"

namespace fencepost::states {

// Of all items of a crash point.
using Levels = std::vector<std::uint64_t>;

Levels levels_of(const StateView &state);
Levels levels_of(const ItemTable &table, Base base);
// The shorter way to say it.
Choice listed_choice(const ItemTable &table, const Levels &levels);

// One store, or what of it is in flight, comes into PM or is lost. Of a run of lines: one line.
struct LevelChange {
    struct Step {
        std::uint32_t item = 0;
        std::uint32_t place = 0; // on the item's way
        std::uint64_t level = 0;
    };
    std::uint64_t seq = 0;
    bool persists = false;
    std::vector<Step> steps = {};
};

class LevelPath {
public:
    LevelPath(const ItemTable &table, const Levels &from, const Levels &to);

    // First what is added, the earliest store first; then what is lost, the latest first. So the
    // first few of them are a state that the order of a line allows.
    std::span<const LevelChange> changes() const { return changes_; }
    // `from` with the first `count` changes and the others named, and with what of their items must
    // change before them.
    Levels with(std::size_t count, std::span<const std::size_t> others = {}) const;

private:
    Levels from_;
    std::vector<LevelChange> changes_;
};

} // namespace fencepost::states
