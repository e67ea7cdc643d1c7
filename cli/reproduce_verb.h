// SPDX-License-Identifier: GPL-2.0-or-later
// `fencepost reproduce`, also for `fencepost test --state`.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/verb.h"
#include "replayer/test/reproduction.h"

namespace fencepost::cli {

struct ReproduceArguments {
    std::string run = {};
    std::string name = {}; // of a finding or a state
    std::vector<std::string> incidental = {};
    std::vector<std::string> oracles = {};
    unsigned times = 1;
    std::string backend = "process";
    std::string accelerator = "auto";
    bool dry_run = false;
    std::string export_to = {};
    bool gdb = false;
    std::vector<std::string> symbols = {};
    bool shell = false;
    bool before_recovery = false;
};

void run_reproduce(Context &context, const ReproduceArguments &arguments);

void print_reproduction(const test::Reproduction &result, const test::NamedState &named);
// Of one attempt, as it ends.
std::string words_of(const test::Attempt &attempt, const test::NamedState &named);

} // namespace fencepost::cli
