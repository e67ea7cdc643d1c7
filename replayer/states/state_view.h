// SPDX-License-Identifier: GPL-2.0-or-later
// One crash state: a crash point and what of the stores in flight is in PM.
#pragma once

#include <cstdint>

#include "replayer/states/crash_points.h"
#include "replayer/states/enumeration.h"
#include "replayer/states/items.h"

namespace fencepost::states {

// Borrowed: good until the next state.
struct StateView {
    const CrashPoint &point;
    const ItemTable *items; // nullptr: no strategy asks for items, and there are no exceptions
    ChosenLevels levels;
};

// Of a state whose crash point has its items.
std::uint64_t level_of(const StateView &state, std::uint32_t item);

} // namespace fencepost::states
