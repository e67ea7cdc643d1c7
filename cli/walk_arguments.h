// SPDX-License-Identifier: GPL-2.0-or-later
// The options of verbs that generate crash states.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/verb.h"
#include "replayer/states/state_walk.h"

namespace fencepost::cli {

struct WalkArguments {
    std::string model = "adr";
    std::string fences = "explicit";
    std::string strategy = "prefix,none-all";
    std::uint64_t seed = 1;
    std::string window = {};
    std::string group = "auto";
    std::vector<std::string> incidental = {};
};

void add_walk_arguments(App &verb, WalkArguments &arguments);

// Errors(usage) for what there is not. Window and incidental fences mean something only in a trace:
// states::in_trace().
states::WalkOptions walk_options(const WalkArguments &arguments);

// "4096 of strncpy_from_user, 2 of x"
std::string describe(const trace::IncidentalFences &fences);

} // namespace fencepost::cli
