// SPDX-License-Identifier: GPL-2.0-or-later
// The options of verbs that generate crash states.
#pragma once

#include <cstdint>
#include <string>

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
};

void add_walk_arguments(CLI::App &verb, WalkArguments &arguments);

// Errors(usage) for what there is not. A window means something only in a trace.
states::WalkOptions walk_options(const WalkArguments &arguments);
states::WalkOptions walk_options(const trace::TraceReader &reader, const WalkArguments &arguments);

} // namespace fencepost::cli
