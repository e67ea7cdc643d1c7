// SPDX-License-Identifier: GPL-2.0-or-later
// `fencepost states`: counts, lists, shows and exports crash states.
#include "cli/states_verb.h"

#include <memory>

#include "base/error.h"
#include "replayer/run/inputs.h"
#include "replayer/run/interrupted.h"
#include "replayer/run/run_directory.h"

namespace fencepost::cli {

namespace {

void run_states(const StatesOptions &options, const Context &context)
{
    if ((!options.show.empty()) + (!options.to_export.empty()) + options.list > 1)
        fail(ErrorKind::usage, "--list, --show and --export exclude each other");
    if (options.limit == 0)
        fail(ErrorKind::usage, "--limit 0 would list nothing");
    const trace::TraceReader reader(run::trace_of(options.run));
    run::refuse_interrupted(reader);
    const Incidental incidental = options.walk.incidental.empty()
                                      ? run::load_incidental({reader.path().parent_path()})
                                      : options.walk.incidental;
    if (!options.show.empty())
        show_state(reader, options.show, incidental, context);
    else if (!options.to_export.empty())
        export_state(reader, options.to_export[0], options.to_export[1], incidental,
                     options.force ? Overwrite::yes : Overwrite::no, context);
    else
        list_states(reader, options, incidental, context);
}

} // namespace

void add_states(App &app, Context &context)
{
    App *verb = app.add_subcommand(
        "states", "Counts, lists, shows or exports what a power failure could leave in PM");
    auto options = std::make_shared<StatesOptions>();
    verb->add_option("RUN", options->run, "Run directory, or the trace in one")->required();
    add_walk_arguments(*verb, options->walk);
    verb->add_option("--after", options->after, "Resume after this state");
    verb->add_option("--limit", options->limit, "Stops after so many states");
    verb->add_option("--index", options->index,
                     "Keeps images and their origins in this SQLite file");
    verb->add_flag("--epochs", options->epochs, "Also a row for each epoch");
    verb->add_flag("--list", options->list, "Lists the states");
    verb->add_option("--show", options->show,
                     "Shows one state: what is in PM and what is not, and who wrote it");
    verb->add_option(
            "--export", options->to_export,
            "STATE FILE: writes the state as a PM image, or as the difference to the initial image "
            "where FILE ends in .delta")
        ->expected(2)
        ->type_name("STATE FILE");
    verb->add_flag("--force", options->force, "--export may replace a file that is there");
    verb->footer("How states come about: docs/explanation/crash-states.md. Examples: "
                 "docs/how-to/count-states.md.");
    verb->examples({{"states run", "how many there are"},
                    {"states run --window op:3 --list", "those of the third operation"},
                    {"states run --show STATE", "what one of them lacks"}});
    verb->callback([options, &context] { run_states(*options, context); });
}

} // namespace fencepost::cli
