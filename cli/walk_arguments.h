// SPDX-License-Identifier: GPL-2.0-or-later
// The options of verbs that generate crash states.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/verb.h"
#include "replayer/states/state_walk.h"
#include "trace/reader.h"

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

// Errors(usage) for what there is not. A window means something only in a trace.
states::WalkOptions walk_options(const WalkArguments &arguments);
// `incidental`: what the run's spec says, unless the arguments do.
states::WalkOptions walk_options(const trace::TraceReader &reader, const WalkArguments &arguments,
                                 const std::vector<std::string> &incidental);
// The options that made a state.
states::WalkOptions walk_options(const trace::TraceReader &reader, const states::CrashState &id,
                                 const std::vector<std::string> &incidental);

// "4096 of strncpy_from_user, 2 of x"
std::string describe(const trace::IncidentalFences &fences);

} // namespace fencepost::cli
