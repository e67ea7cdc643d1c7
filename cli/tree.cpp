// SPDX-License-Identifier: GPL-2.0-or-later
// `fencepost tree`: recovers one crash state and shows the tree that came back.
#include <memory>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/places.h"
#include "base/terminal_text.h"
#include "cli/tree_listing.h"
#include "cli/verb.h"
#include "replayer/oracle/tree_evidence.h"
#include "replayer/test/judged_state.h"

namespace fencepost::cli {

namespace {

using nlohmann::json;

struct TreeOptions {
    std::string run;
    std::string state;
    std::vector<std::string> incidental;
};

void print_judgement(const oracle::Judgement &judgement)
{
    for (const oracle::Evidence &evidence : judgement.evidence)
        fmt::print("{}: {}: {}\n", evidence.oracle, to_string(evidence.verdict),
                   terminal_text(title_of(evidence)));
    if (judgement.tree)
        print_tree(*judgement.tree);
}

json tree_document(const TreeOptions &options, const oracle::Judgement &judgement)
{
    json evidence = json::array();
    for (const oracle::Evidence &each : judgement.evidence)
        evidence.push_back({{"oracle", each.oracle},
                            {"verdict", to_string(each.verdict)},
                            {"title", title_of(each)}});
    return {{"state", options.state},
            {"verdict", to_string(judgement.verdict)},
            {"evidence", evidence},
            {"tree", judgement.tree ? oracle::tree_json(*judgement.tree) : json()}};
}

void run_tree(Context &context, const TreeOptions &options)
{
    test::StateRequest request = {.state = options.state, .incidental = options.incidental};
    request.oracles = {"intact"}; // asks for the tree, and for no second run of the workload
    test::JudgedState state(run::open_run(options.run), cache_directory(), request,
                            [&](const std::string &line) { progress(context, line); });
    const oracle::Judgement judgement = state.judge();
    if (context.settings.json)
        print_json(tree_document(options, judgement));
    else
        print_judgement(judgement);
    if (judgement.verdict != oracle::Verdict::pass)
        context.exit_code = oracle::is_failure(judgement.verdict) ? 1 : 4;
}

} // namespace

void add_tree(App &app, Context &context)
{
    App *verb = app.add_subcommand(
        "tree", "Recovers one crash state in a guest and shows the tree that comes back");
    auto options = std::make_shared<TreeOptions>();
    verb->add_option("RUN", options->run, "Run directory, or the trace in one")->required();
    verb->add_option("STATE", options->state,
                     "Id of the state: a finding has it, and `fencepost states --list`")
        ->required();
    verb->add_option("--incidental", options->incidental,
                     "Functions whose fences do not count, if the state was made with others than "
                     "those of the spec");
    verb->footer(
        "Exit status 1: it does not recover, or the tree contradicts itself. What lacks in "
        "a state: `fencepost states RUN --show STATE`.");
    verb->examples({{"tree run STATE", "what comes back from one crash state"}});
    verb->callback([options, &context] { run_tree(context, *options); });
}

} // namespace fencepost::cli
