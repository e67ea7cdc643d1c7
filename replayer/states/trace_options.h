// SPDX-License-Identifier: GPL-2.0-or-later
// The options of a walk that mean something only in a trace.
#pragma once

#include <string>
#include <vector>

#include "replayer/states/state_walk.h"

namespace fencepost::states {

// `window`: as parse_window() has it; empty: everything. `incidental`: as a spec or the user names
// functions (trace::incidental_functions()).
WalkOptions in_trace(WalkOptions walk, const trace::TraceReader &reader, const std::string &window,
                     const std::vector<std::string> &incidental);

// What the ids of states mean under these options; the same text for the same.
std::string meaning_of_ids(const WalkOptions &walk);

} // namespace fencepost::states
