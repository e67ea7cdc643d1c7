// SPDX-License-Identifier: GPL-2.0-or-later
// Which stores decide that a crash state fails, found out by testing states like it.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "replayer/image/in_flight_stores.h"
#include "replayer/states/crash_state.h"

namespace fencepost::test {

struct DecidingStores {
    // The state fails as long as this one is missing, and no more with it and all before it.
    std::optional<trace::EventRef> absent = {};
    // That one was flushed before `present` was executed, or at all: what it lacks is a fence.
    bool absent_flushed = false;
    // What is in PM of the stores before this one does not fail, and with it does.
    std::optional<trace::EventRef> present = {};
};

// A state of the same crash point as the one that fails, to be tested.
struct Neighbour {
    states::Choice choice;
    image::PartChoice parts; // that it has in PM
};

// What a guest made of a state.
enum class Said {
    passes,
    fails_alike, // as the state that is to be explained
    other,       // fails in another way, or it could not be told
};

// Nothing: it cannot be told.
using AskNeighbour = std::function<std::optional<Said>(const Neighbour &)>;

// Asks about two states and twice the logarithm of the number of stores in flight. Where it fails
// with all that is in flight and with nothing of it, some states in between may pass, as another
// bug makes one of the two fail: `passes`, states of that crash point that do, are then ways in, or
// what persists if all stores do so in their order. Neither store: there is none, or none that the
// state has or lacks. Nothing: it could not be found out. `choice`: of the state that fails.
std::optional<DecidingStores> find_deciding_stores(const image::StateStores &state,
                                                   const states::Choice &choice,
                                                   std::span<const Neighbour> passes,
                                                   const AskNeighbour &ask);

} // namespace fencepost::test
