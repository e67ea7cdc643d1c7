// SPDX-License-Identifier: GPL-2.0-or-later
// Which stores decide that a crash state fails, found out by testing states like it.
#pragma once

#include <functional>
#include <optional>

#include "replayer/image/in_flight_stores.h"
#include "replayer/states/crash_state.h"

namespace fencepost::test {

struct DecidingStores {
    // The state fails as long as this one is missing, and no more with it and all before it.
    std::optional<trace::EventRef> absent = {};
    // What is in PM of the stores before this one does not fail, and with it does.
    std::optional<trace::EventRef> present = {};
};

// A state of the same crash point as the one that fails, to be tested.
struct Neighbour {
    states::Choice choice;
    image::PartChoice parts; // that it has in PM
};

// Whether it fails alike; nothing: that cannot be told.
using FailsAlike = std::function<std::optional<bool>(const Neighbour &)>;

// Asks about two states and twice the logarithm of the number of stores in flight. Neither store:
// it fails with all that is in flight and with nothing of it. Nothing: it could not be found out.
// `choice`: of the state that fails.
std::optional<DecidingStores> find_deciding_stores(const image::StateStores &state,
                                                   const states::Choice &choice,
                                                   const FailsAlike &fails_alike);

} // namespace fencepost::test
