// SPDX-License-Identifier: GPL-2.0-or-later
// See walk_arguments.h.
#include "cli/walk_arguments.h"

#include <fmt/core.h>

namespace fencepost::cli {

void add_walk_arguments(App &verb, WalkArguments &arguments)
{
    verb.add_option("--model", arguments.names.model, "Persistence model: adr, eadr or line")
        ->capture_default_str();
    verb.add_option("--fences", arguments.names.fences,
                    "Fences that count: explicit (sfence, mfence) or architectural (locked "
                    "instructions too)")
        ->capture_default_str();
    verb.add_option("--strategy", arguments.names.strategy,
                    fmt::format("Comma-separated strategies that generate states: {}; or a "
                                "pmreorder engine (docs/reference/strategies.md)",
                                states::strategy_names()))
        ->capture_default_str();
    verb.add_option("--seed", arguments.names.seed, "Of the strategy random")
        ->capture_default_str();
    verb.add_option(
        "--window", arguments.window,
        "Where power may fail: seq:A-B, epoch:A-B, op:N, op:N-M, checkpoint:N-M or function:NAME");
    verb.add_option("--group", arguments.names.group,
                    "Runs of lines written in sequence as one item: auto (16 lines or more), run "
                    "(2 or more), off")
        ->capture_default_str();
    verb.add_option("--incidental", arguments.incidental,
                    "Comma-separated functions whose sfence and mfence do not count under explicit "
                    "fences, beside those of Linux; with `none`, these alone")
        ->delimiter(',')
        ->allow_extra_args(false);
}

std::string describe(const trace::IncidentalFences &fences)
{
    std::string text;
    for (const trace::IncidentalFences::Function &each : fences.functions())
        text += fmt::format("{}{} of {}", text.empty() ? "" : ", ", each.fences, each.name);
    return text;
}

} // namespace fencepost::cli
