// SPDX-License-Identifier: GPL-2.0-or-later
// `fencepost reproduce`: a finding or a crash state once more, in guests of its own.
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/places.h"
#include "cli/reproduce_verb.h"
#include "cli/test_verb.h"

namespace fencepost::cli {

namespace {

test::NamedState named_state(const ReproduceArguments &arguments, const run::RunFiles &files)
{
    test::StateRequest chosen;
    chosen.incidental = arguments.incidental;
    chosen.oracles = arguments.oracles;
    chosen.backend = arguments.backend;
    guest::check_backend_name(chosen.backend);
    chosen.accelerator = parse_accelerator(arguments.accelerator);
    return test::named_state(files, arguments.name, std::move(chosen));
}

void judge_again(Context &context, test::JudgedState &state, const test::NamedState &named,
                 unsigned times)
{
    unsigned done = 0;
    const test::Reproduction result =
        test::reproduce(state, named.finding, times, [&](const test::Attempt &attempt) {
            ++done;
            if (times > 1)
                progress(context,
                         fmt::format("{} of {}: {}", done, times, words_of(attempt, named)));
        });
    if (context.settings.json)
        print_json(reproduction_json(result, named));
    else
        print_reproduction(result, named);
    context.exit_code = result.exit_code();
}

} // namespace

void run_reproduce(Context &context, const ReproduceArguments &arguments)
{
    const run::RunFiles files = run::open_run(arguments.run);
    const test::NamedState named = named_state(arguments, files);
    test::JudgedState state(files, cache_directory(), named.request,
                            [&](const std::string &line) { progress(context, line); });
    if (arguments.dry_run) {
        fmt::print("{}\n", state.qemu_command());
        return;
    }
    judge_again(context, state, named, arguments.times);
}

void add_reproduce(App &app, Context &context)
{
    App *verb = app.add_subcommand(
        "reproduce", "Recovers a finding's crash image in a new guest and judges it again");
    auto options = std::make_shared<ReproduceArguments>();
    verb->add_option("RUN", options->run, "Run directory, or the trace in one")->required();
    verb->add_option("FINDING|STATE", options->name,
                     "Id of a finding of `fencepost test`, or of a crash state")
        ->required();
    verb->add_option("--times", options->times, "How often, each time in a new guest")
        ->range(1u, 10000u)
        ->capture_default_str();
    verb->add_option("--oracle", options->oracles,
                     "Comma-separated oracles; default: those that gave the run its verdicts")
        ->delimiter(',')
        ->allow_extra_args(false);
    verb->add_option("--incidental", options->incidental,
                     "Functions whose fences do not count, if the state was made with others than "
                     "those of the spec");
    verb->add_option("--backend", options->backend,
                     "Who runs the guests: process, libvirt or libvirt:URI")
        ->capture_default_str();
    verb->add_option("--accelerator", options->accelerator, "auto (KVM where it works), kvm or tcg")
        ->capture_default_str();
    verb->add_flag("--dry-run", options->dry_run, "Print the QEMU command and do nothing");
    verb->footer("Exit status 1: it fails again; 0: it did not fail this time; 4: it could not be "
                 "judged. Examples: docs/how-to/reproduce.md.");
    verb->callback([options, &context] { run_reproduce(context, *options); });
}

} // namespace fencepost::cli
