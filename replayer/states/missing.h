// SPDX-License-Identifier: GPL-2.0-or-later
// What a crash state lacks of what had been written.
#pragma once

#include <vector>

#include "replayer/states/state_walk.h"

namespace fencepost::states {

struct MissingStore {
    std::uint64_t seq = 0; // its event
    trace::SiteId site = 0;
    trace::StackId stack = 0;
};

// One for each site, the first of its stores that the state lacks (wholly or in part), in order of seq.
// `in_flight`: at the state's crash point.
std::vector<MissingStore> missing_stores(const State &state, const model::InFlight &in_flight);

} // namespace fencepost::states
