// SPDX-License-Identifier: GPL-2.0-or-later
// `fencepost record`: one workload, into a run directory.
#include <cstdio>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/places.h"
#include "cli/reach_warnings.h"
#include "cli/record_verb.h"
#include "replayer/record/completeness.h"
#include "replayer/record/record_json.h"
#include "replayer/record/record_run.h"
#include "replayer/record/summary.h"
#include "replayer/report/analyzed_run.h"
#include "replayer/run/run_directory.h"

namespace fencepost::cli {

namespace {

using namespace fencepost::record;
using namespace fencepost::run;

void run_record(Context &context, const RecordArguments &arguments)
{
    if (arguments.dry_run) {
        RecordingProgress progress(context);
        std::printf("%s\n",
                    dry_run(record_request(arguments), cache_directory(), progress.to()).c_str());
        return;
    }
    check_run_name(arguments.run);
    const RecordRequest request = record_request(arguments);
    const RecordResult result = [&] {
        RecordingProgress progress(context);
        return record_run(request, cache_directory(), progress.to());
    }();
    require_complete(context, {arguments.run}, result);
    const RunFiles files = {arguments.run};
    if (context.settings.json) {
        nlohmann::json document = summary(files, result);
        document["warnings"] = record::warnings_json(files);
        print_json(document);
    } else {
        print_recording(files, result);
        print_warnings(files);
    }
    context.exit_code = with_reach(result.end == WorkloadEnd::finished ? 0 : 1, files);
}

} // namespace

RecordProgress RecordingProgress::to()
{
    return {[this](const std::string &line) { progress(context_, line); },
            [this](std::uint64_t events) {
                counter_.show("recording: " + std::to_string(events) + " events");
            }};
}

void print_recording(const RunFiles &files, const RecordResult &result)
{
    std::printf("workload   %s\n", result.outcome.c_str());
    std::printf("events     %llu, %llu of them stores, in %.2f s of guest time\n",
                static_cast<unsigned long long>(result.event_count),
                static_cast<unsigned long long>(result.stores),
                static_cast<double>(result.guest_usec) / 1e6);
    if (result.complete())
        std::printf("complete   initial image + stores == PM at the end, byte for byte\n");
    else
        std::printf("INCOMPLETE %llu lines of PM are not what the stores left there\n",
                    static_cast<unsigned long long>(result.differing_lines));
    std::printf("took       %.2f s to set up, %.2f s to record\n", result.setup_seconds,
                result.record_seconds);
    std::printf("run        %s\n", files.directory.c_str());
}

RecordRequest record_request(const RecordArguments &arguments)
{
    Spec spec = load_spec(arguments.spec,
                          arguments.anywhere ? FilesFrom::anywhere : FilesFrom::spec_directory);
    collect::rule_files(spec.analyze).order_file(); // mistakes in them are told now
    return {std::move(spec), arguments.run, !arguments.no_stacks, arguments.force};
}

void require_complete(const Context &context, const RunFiles &files, const RecordResult &result)
{
    if (result.complete())
        return;
    if (context.settings.json)
        print_json(summary(files, result));
    else
        print_recording(files, result);
    const trace::TraceReader reader(files.trace());
    for (const trace::LineDifference &difference : result.differences)
        progress(context, describe(difference, reader));
    record::require_complete(result);
}

void add_record_arguments(App &verb, RecordArguments &arguments)
{
    verb.add_option("SPEC", arguments.spec, "What to record (docs/reference/spec.md)")->required();
    verb.add_option("-o,--output", arguments.run, "The run directory to make")->required();
    verb.add_flag("--no-stacks", arguments.no_stacks,
                  "Do not record the call stack of every event");
    verb.add_flag("--force", arguments.force, "Replace a finished recording in the run directory");
    verb.add_flag("--files-from-anywhere", arguments.anywhere,
                  "The spec may name files outside of its directory");
}

void add_record(App &app, Context &context)
{
    App *verb = app.add_subcommand(
        "record", "Records a workload in a guest: every store, flush and fence on PM");
    auto options = std::make_shared<RecordArguments>();
    add_record_arguments(*verb, *options);
    verb->add_flag("--dry-run", options->dry_run, "Print the QEMU command and record nothing");
    verb->examples({{"record docs/how-to/hello.toml -o run", "three shell commands on ext4"},
                    {"record spec.toml -o run --dry-run", "the QEMU command alone"}});
    verb->callback([&context, options] { run_record(context, *options); });
}

} // namespace fencepost::cli
