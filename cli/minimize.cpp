// SPDX-License-Identifier: GPL-2.0-or-later
// `fencepost minimize`: what exactly makes a finding fail.
#include <cstdio>
#include <memory>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/places.h"
#include "base/terminal_text.h"
#include "cli/test_verb.h"
#include "replayer/test/minimize_request.h"
#include "replayer/test/test_json.h"

namespace fencepost::cli {

namespace {

using nlohmann::json;

struct MinimizeOptions {
    std::string run;
    std::string duration;
    std::string accelerator = "auto";
    test::MinimizeRequest request;
};

// Of a file that may be anybody's.
std::string text_at(const json &object, const char *name)
{
    const auto found = object.is_object() ? object.find(name) : object.end();
    return found != object.end() && found->is_string() ? terminal_text(found->get<std::string>())
                                                       : "";
}

const json &member(const json &object, const char *name)
{
    static const json nothing;
    const auto found = object.is_object() ? object.find(name) : object.end();
    return object.is_object() && found != object.end() ? *found : nothing;
}

void print_state(const char *label, const json &state)
{
    if (!state.is_object()) {
        fmt::print("  {:<9} no state of this crash point that was tested\n", label);
        return;
    }
    fmt::print("  {:<9} {}{}\n", label, text_at(state, "state"),
               member(state, "confirmed") == true ? " (confirmed in a fresh guest)"
                                                  : " (not confirmed)");
}

void print_stores(const char *label, const json &stores)
{
    if (!stores.is_array())
        return;
    for (const json &store : stores) {
        const std::string operation = text_at(store, "operation");
        fmt::print("  {:<9} {} {}{}\n", label, text_at(store, "role"), text_at(store, "where"),
                   operation.empty() ? "" : fmt::format(", in `{}`", operation));
        for (const json &bytes : member(store, "bytes"))
            fmt::print("            {}: {} -> {}\n", text_at(bytes, "place"),
                       text_at(bytes, "before"), text_at(bytes, "after"));
        label = "";
    }
}

void print_minimal(const json &minimal, bool made)
{
    fmt::print("finding {}{}\n  {}\n", text_at(minimal, "finding"),
               made ? "" : " (minimized before; --force does it again)",
               text_at(minimal, "sentence"));
    if (member(minimal, "reproduced") != true)
        return;
    print_state("fails", member(minimal, "fail"));
    print_state("passes", member(minimal, "pass"));
    print_stores("differ in", member(minimal, "differ"));
    const json &tests = member(minimal, "tests");
    if (member(tests, "count").is_number_unsigned() && member(tests, "known").is_number_unsigned())
        fmt::print("  {:<9} {} in guests; {} verdicts known{}\n", "tests",
                   member(tests, "count").get<std::uint64_t>(),
                   member(tests, "known").get<std::uint64_t>(),
                   member(minimal, "complete") == true ? "" : "; stopped before the end");
    std::fflush(stdout);
}

void print_shortened(const std::string &finding,
                     const std::optional<test::ShortenedWorkload> &found)
{
    if (!found) {
        fmt::print("finding {}: the workload is one program: not shortened\n", finding);
        return;
    }
    fmt::print("finding {}: workload of {} operations, {} are enough{} ({} recordings, {:.0f} s)\n",
               finding, found->operations_before, found->operations,
               found->workload.complete ? "" : " so far", found->recordings, found->seconds);
    for (const std::string &line : found->workload.lines)
        fmt::print("  {}\n", terminal_text(line));
    std::fflush(stdout);
}

void run_minimize(Context &context, MinimizeOptions &options)
{
    if (!options.duration.empty())
        options.request.duration = parse_duration(options.duration);
    options.request.accelerator = guest::parse_accelerator(options.accelerator);
    json shown = json::array();
    json workloads = json::array();
    test::minimize_recorded(run::open_run(options.run), cache_directory(), options.request,
                            {[&](const std::string &line) { progress(context, line); },
                             [&](const json &minimal, bool made) {
                                 if (context.settings.json)
                                     shown.push_back(minimal);
                                 else
                                     print_minimal(minimal, made);
                             },
                             [&](const std::string &finding, const auto &found) {
                                 if (!context.settings.json)
                                     print_shortened(finding, found);
                                 else if (found)
                                     workloads.push_back(test::shortened_json(finding, *found));
                             }});
    if (context.settings.json)
        print_json({{"findings", shown}, {"workloads", workloads}});
}

} // namespace

void add_minimize(App &app, Context &context)
{
    App *verb = app.add_subcommand(
        "minimize", "Finds what exactly makes findings fail: the smallest difference from a state "
                    "that passes, and the earliest crash point");
    auto options = std::make_shared<MinimizeOptions>();
    test::MinimizeRequest &request = options->request;
    verb->add_option("RUN", options->run, "A run directory that was tested")->required();
    verb->add_option("FINDING", request.finding, "Id of a finding; default: all that have states");
    verb->add_option("--tests", request.tests, "Tests in guests, at most, for each finding");
    verb->add_option("--for", options->duration, "Stops after this time: 90s, 10m, 2h");
    verb->add_option("--incidental", request.incidental,
                     "Functions whose fences do not count, if the run was tested with others than "
                     "those of the spec");
    verb->add_option("--backend", request.backend,
                     "Who runs the guests: process, libvirt or libvirt:URI")
        ->capture_default_str();
    verb->add_option("--accelerator", options->accelerator, "auto (KVM where it works), kvm or tcg")
        ->capture_default_str();
    verb->add_flag("--workload", request.workload,
                   "Shortens the workload too: leaves out operations or commands, makes numbers "
                   "smaller, and records again each time");
    verb->add_flag("--force", request.force, "Also findings that were minimized before");
    verb->footer("Writes minimal.json, fail.delta, pass.delta (with --workload also workload.ops "
                 "or workload.sh) into "
                 "RUN/findings/ID. Example: "
                 "docs/how-to/minimize.md.");
    verb->examples({{"minimize run", "all bugs of the run"},
                    {"minimize run FINDING --workload", "one of them, and a shorter workload"}});
    verb->callback([options, &context] { run_minimize(context, *options); });
}

} // namespace fencepost::cli
