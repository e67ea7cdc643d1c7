// SPDX-License-Identifier: GPL-2.0-or-later
// The options of verbs that generate crash states.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/verb.h"
#include "replayer/states/walk_names.h"

namespace fencepost::cli {

struct WalkArguments {
    states::WalkNames names = {};
    std::string window = {};
    std::vector<std::string> incidental = {};
};

void add_walk_arguments(App &verb, WalkArguments &arguments);

// "4096 of strncpy_from_user, 2 of x"
std::string describe(const trace::IncidentalFences &fences);

} // namespace fencepost::cli
