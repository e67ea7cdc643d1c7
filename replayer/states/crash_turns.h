// SPDX-License-Identifier: GPL-2.0-or-later
// The order in which a test takes crash points: its time may be over before it has all of them.
#pragma once

#include <string>
#include <vector>

#include "replayer/states/state_walk.h"

namespace fencepost::states {

// The crash points of a walk in turns, each for a walk of its own (WalkOptions::turn). First come
// those just after each thing that the user's own code did: a store of its own, a call of a library
// that it made. Then what went on in such calls, the first times before the hundredth, so that a
// long set-up in a library, which is one call, holds up nothing. Code without the user's in its
// call stack comes last. `own_modules` has the user's files, by their paths in the guest. Nothing:
// one walk does, because there is nothing to prefer.
std::vector<std::vector<Span>> crash_turns(const trace::TraceReader &reader,
                                           const WalkOptions &options,
                                           const std::vector<std::string> &own_modules);

} // namespace fencepost::states
