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

// Each verb adds itself to the app; its callback does the work, prints its result on stdout and
// throws Error for anything that goes wrong. `exit_code` is what the process ends with otherwise.
struct Context {
    Settings settings;
    int exit_code = 0;
};

void add_analyze(App &app, Context &context);
void add_doctor(App &app, Context &context);
void add_image(App &app, Context &context);
void add_info(App &app, Context &context);
void add_record(App &app, Context &context);
void add_repair(App &app, Context &context);
void add_run(App &app, Context &context);
void add_sql(App &app, Context &context);
void add_states(App &app, Context &context);
void add_test(App &app, Context &context);
void add_verify(App &app, Context &context);

// One JSON document on stdout.
void print_json(const nlohmann::json &document);

// A line of progress on stderr, unless -q.
void progress(const Context &context, const std::string &line);

} // namespace fencepost::cli
