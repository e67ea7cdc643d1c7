// SPDX-License-Identifier: GPL-2.0-or-later
// `fencepost record`: one workload, into a run directory.
#include <cstdio>

#include <unistd.h>

#include "base/deadline.h"
#include "base/error.h"
#include "base/places.h"
#include "cli/analyze_verb.h"
#include "cli/reach_warnings.h"
#include "cli/record_verb.h"
#include "replayer/record/completeness.h"
#include "replayer/record/names.h"
#include "replayer/record/recorder.h"
#include "replayer/record/summary.h"
#include "replayer/run/run_directory.h"

namespace fencepost::cli {

namespace {

using namespace fencepost::record;
using namespace fencepost::run;

// A line that stands still on a terminal, and one now and then elsewhere.
class EventCounter {
public:
    explicit EventCounter(const Context &context) : quiet_(context.settings.verbose < 0) {}
    ~EventCounter()
    {
        if (shown_)
            std::fputs("\n", stderr);
    }

    void show(std::uint64_t events)
    {
        if (quiet_)
            return;
        if (isatty(2)) {
            std::fprintf(stderr, "\rrecording: %llu events",
                         static_cast<unsigned long long>(events));
            shown_ = true;
        } else if (since_line_.seconds() >= 5) {
            std::fprintf(stderr, "recording: %llu events\n",
                         static_cast<unsigned long long>(events));
            since_line_ = {};
        }
    }

private:
    bool quiet_;
    bool shown_ = false;
    Stopwatch since_line_;
};

void run_record(Context &context, const RecordArguments &options)
{
    const RecordResult result = record_workload(context, options);
    if (options.dry_run)
        return;
    const RunFiles files = {options.run};
    if (context.settings.json) {
        nlohmann::json document = summary(files, result);
        document["warnings"] = warnings_json(files);
        print_json(document);
    } else {
        print_recording(files, result);
        print_warnings(files);
    }
    context.exit_code = with_reach(result.end == WorkloadEnd::finished ? 0 : 1, files);
}

Recorder make_recorder(const Context &context, EventCounter *counter)
{
    RecordProgress progress_to;
    progress_to.line = [&context](const std::string &line) { progress(context, line); };
    if (counter != nullptr)
        progress_to.events = [counter](std::uint64_t events) { counter->show(events); };
    return Recorder(cache_directory(), built_part("qemu-plugin", "fencepost-tracer.so"),
                    progress_to);
}

} // namespace

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

Spec load_spec_of(const RecordArguments &options)
{
    Spec spec =
        load_spec(options.spec, options.anywhere ? FilesFrom::anywhere : FilesFrom::spec_directory);
    check_rule_files(spec.analyze);
    return spec;
}

Inputs prepare_recording(const Context &context, const RecordArguments &options)
{
    return make_recorder(context, nullptr).prepare(load_spec_of(options), !options.no_stacks);
}

RecordResult record_workload(const Context &context, const RecordArguments &options)
{
    if (!options.dry_run)
        check_run_name(options.run);
    const Spec spec = load_spec_of(options);
    auto counter = std::make_unique<EventCounter>(context);
    Recorder recorder = make_recorder(context, counter.get());
    std::optional<NewRun> run;
    if (!options.dry_run)
        run.emplace(options.run, options.force ? Replace::any : Replace::unfinished_only);
    const Inputs inputs = recorder.prepare(spec, !options.no_stacks);
    if (options.dry_run) {
        std::printf("%s\n", recorder.command_line(inputs).c_str());
        return {};
    }
    const RunFiles &files = run->files();
    save_inputs(files, inputs);
    RecordResult result = recorder.record(
        inputs, files.trace(), [&](std::size_t device) { return files.final_pm(device); });
    counter.reset();
    const guest::Template source = recorder.template_of(inputs);
    save_results(files, inputs, result, source);
    for (const std::string &note : name_code(files, spec, source, cache_directory()).notes)
        progress(context, note);
    if (!result.complete()) {
        if (context.settings.json)
            print_json(summary(files, result));
        else
            print_recording(files, result);
        const trace::TraceReader reader(files.trace());
        for (const trace::LineDifference &difference : result.differences)
            progress(context, describe(difference, reader));
        fail(ErrorKind::trace, "the recording is not complete: {} lines differ",
             result.differing_lines);
    }
    return result;
}

void add_record_arguments(CLI::App &verb, RecordArguments &arguments)
{
    verb.add_option("SPEC", arguments.spec, "What to record (docs/reference/spec.md)")->required();
    verb.add_option("-o,--output", arguments.run, "The run directory to make")->required();
    verb.add_flag("--no-stacks", arguments.no_stacks,
                  "Do not record the call stack of every event");
    verb.add_flag("--force", arguments.force, "Replace a finished recording in the run directory");
    verb.add_flag("--files-from-anywhere", arguments.anywhere,
                  "The spec may name files outside of its directory");
}

void add_record(CLI::App &app, Context &context)
{
    CLI::App *verb = app.add_subcommand(
        "record", "Records a workload in a guest: every store, flush and fence on PM");
    auto options = std::make_shared<RecordArguments>();
    add_record_arguments(*verb, *options);
    verb->add_flag("--dry-run", options->dry_run, "Print the QEMU command and record nothing");
    verb->callback([&context, options] { run_record(context, *options); });
}

} // namespace fencepost::cli
