// SPDX-License-Identifier: GPL-2.0-or-later
// `fencepost record`: one workload, into a run directory.
#include <cstdio>

#include <unistd.h>

#include "base/error.h"
#include "base/places.h"
#include "cli/verb.h"
#include "replayer/record/recorder.h"
#include "replayer/record/run_directory.h"

namespace fencepost::cli {

namespace {

using namespace fencepost::record;

struct RecordOptions {
    std::string spec;
    std::string run;
    bool stacks = false;
    bool force = false;
    bool anywhere = false;
    bool dry_run = false;
};

void run_record(Context &context, const RecordOptions &options)
{
    const Spec spec = load_spec(options.spec, options.anywhere ? FilesFrom::anywhere : FilesFrom::spec_directory);
    RecordProgress progress_to;
    progress_to.line = [&](const std::string &line) { progress(context, line); };
    Recorder recorder(cache_directory(), built_part("qemu-plugin", "fencepost-tracer.so"), progress_to);
    const RecordInputs inputs = recorder.prepare(spec, options.stacks);
    if (options.dry_run) {
        std::printf("%s\n", recorder.command_line(inputs).c_str());
        return;
    }
    const NewRun run(options.run, options.force ? Replace::any : Replace::unfinished_only);
    const RecordResult result = recorder.record(inputs, run.files().trace(),
                                                [&](std::size_t device) { return run.files().final_pm(device); });
    std::printf("%s\n%llu events, %s\n", result.outcome.c_str(), (unsigned long long)result.event_count,
                result.complete() ? "complete" : "NOT COMPLETE");
}

} // namespace

void add_record(CLI::App &app, Context &context)
{
    CLI::App *verb = app.add_subcommand("record", "Records a workload in a guest: every store, flush and fence on PM");
    auto options = std::make_shared<RecordOptions>();
    verb->add_option("SPEC", options->spec, "What to record (docs/reference/spec.md)")->required();
    verb->add_option("-o,--output", options->run, "The run directory to make")->required();
    verb->add_flag("--stacks", options->stacks, "Record the call stack of every event");
    verb->add_flag("--force", options->force, "Replace a finished recording in the run directory");
    verb->add_flag("--files-from-anywhere", options->anywhere, "The spec may name files outside of its directory");
    verb->add_flag("--dry-run", options->dry_run, "Print the QEMU command and do nothing");
    verb->callback([&context, options] { run_record(context, *options); });
}

} // namespace fencepost::cli
