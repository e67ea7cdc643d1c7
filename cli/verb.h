// SPDX-License-Identifier: GPL-2.0-or-later
// What every verb of the command line shares: global options, output conventions, one entry each.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "cli/command_line.h"

namespace fencepost::cli {

struct Settings {
    bool json = false;
    int verbose = 0; // -v counts up, -q counts down
};

// Each verb is a function `add_NAME(App &, Context &)` in a file of its own, and a line in
// main.cpp. It adds itself to the app; its callback does the work, prints its result on stdout and
// throws Error for anything that goes wrong. `exit_code` is what the process ends with otherwise.
struct Context {
    Settings settings;
    int exit_code = 0;
};

// One JSON document on stdout.
void print_json(const nlohmann::json &document);

// A line of progress on stderr, unless -q.
void progress(const Context &context, const std::string &line);

} // namespace fencepost::cli
