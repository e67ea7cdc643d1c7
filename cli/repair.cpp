// SPDX-License-Identifier: GPL-2.0-or-later
// `fencepost repair`: rolls back what a killed process left half written in a run's databases.
#include "cli/verb.h"

#include <filesystem>
#include <memory>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "replayer/run/repair.h"

namespace fencepost::cli {

namespace {

namespace fs = std::filesystem;

void say_repaired(const Context &context, const std::vector<fs::path> &rolled_back)
{
    if (context.settings.json) {
        nlohmann::json names = nlohmann::json::array();
        for (const fs::path &file : rolled_back)
            names.push_back(file.filename().string());
        print_json({{"rolled_back", names}});
        return;
    }
    for (const fs::path &file : rolled_back)
        fmt::print("{}: rolled back to what was written whole\n", file.string());
    if (rolled_back.empty())
        fmt::print("nothing to repair\n");
}

} // namespace

void add_repair(App &app, Context &context)
{
    App *verb = app.add_subcommand(
        "repair", "Rolls back what a killed process left half written in a run's databases");
    auto run = std::make_shared<std::string>();
    verb->add_option("RUN", *run, "Run directory, or the trace in one")->required();
    verb->footer("Verbs that only read (info, sql, states, analyze, verify) never change a run. A "
                 "journal that fencepost cannot have written is refused.");
    verb->examples({{"repair run", "after a kill -9 in the middle of a write"}});
    verb->callback([run, &context] { say_repaired(context, run::repair(*run)); });
}

} // namespace fencepost::cli
