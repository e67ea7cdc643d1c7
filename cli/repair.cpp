// SPDX-License-Identifier: GPL-2.0-or-later
// `fencepost repair`: rolls back what a killed process left half written in a run's databases.
#include "cli/verb.h"

#include <memory>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "replayer/run/run_directory.h"
#include "trace/journal.h"
#include "trace/reader.h"

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

void run_repair(const std::string &run, const Context &context)
{
    const fs::path trace = run::trace_of(run);
    std::vector<fs::path> rolled_back;
    if (trace.filename() != run::RunFiles{}.trace().filename()) { // a trace by itself
        if (trace::roll_back(trace))
            rolled_back.push_back(trace);
    } else {
        const run::RunFiles files = run::open_run(trace);
        const FileLock lock = run::lock_run(files);
        if (trace::roll_back(files.trace()))
            rolled_back.push_back(files.trace());
        if (trace::roll_back(files.results(), trace::FileKind::test_results))
            rolled_back.push_back(files.results());
    }
    const trace::TraceReader reader(trace); // refuses what is no trace
    say_repaired(context, rolled_back);
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
    verb->callback([run, &context] { run_repair(*run, context); });
}

} // namespace fencepost::cli
