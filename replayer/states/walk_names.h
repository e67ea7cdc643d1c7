// SPDX-License-Identifier: GPL-2.0-or-later
// What a user says about how crash states are generated, by name.
#pragma once

#include <cstdint>
#include <string>

#include "replayer/states/state_walk.h"

namespace fencepost::states {

struct WalkNames {
    std::string model = "adr";
    std::string fences = "explicit";
    std::string strategy = "prefix,none-all";
    std::uint64_t seed = 1;
    std::string group = "auto";
};

// Errors(usage) for what there is not. Window and incidental fences mean something only in a trace:
// in_trace().
WalkOptions walk_options(const WalkNames &names);

} // namespace fencepost::states
