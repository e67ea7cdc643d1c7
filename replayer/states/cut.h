// SPDX-License-Identifier: GPL-2.0-or-later
// A state with less, or more, of what was stored early: see Choice::Cut.
#pragma once

#include <cstdint>
#include <vector>

#include "replayer/states/crash_state.h"
#include "replayer/states/state_view.h"

namespace fencepost::states {

// The levels of the state's items after the cut, those that are not 0. If a state is legal, so is
// what is left of it without the latest stores, and what it becomes with the earliest: whatever
// must be there before a piece was stored before it (a run is alone on its lines).
std::vector<ItemLevel> cut_levels(const StateView &state, Choice::Cut cut, std::uint64_t cut_seq);

} // namespace fencepost::states
