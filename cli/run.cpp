// SPDX-License-Identifier: GPL-2.0-or-later
// `fencepost run`: record, verify, analyze and test one workload.
#include <cstdio>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "analyzer/findings/relate.h"
#include "analyzer/report/json.h"
#include "analyzer/report/text.h"
#include "base/places.h"
#include "base/terminal_text.h"
#include "cli/analyze_verb.h"
#include "cli/reach_warnings.h"
#include "cli/record_verb.h"
#include "cli/report_verb.h"
#include "cli/test_verb.h"
#include "replayer/record/summary.h"

namespace fencepost::cli {

namespace {

using nlohmann::json;

struct RunOptions {
    RecordArguments record = {};
    TestArguments test = {};
    unsigned times = 1;
};

void title(const Context &context, const char *text)
{
    if (!context.settings.json)
        fmt::print("== {}\n", text);
    std::fflush(stdout);
}

// Says what becomes of the recording; returns its summary.
json show_recording(Context &context, const run::RunFiles &files, const record::Recorded &recorded)
{
    if (recorded.made) {
        require_complete(context, files, *recorded.made);
        if (!context.settings.json)
            print_recording(files, *recorded.made);
        return summary(files, *recorded.made);
    }
    if (recorded.reuse == record::Reuse::judged_anew)
        progress(context, "[test] of the spec has changed: earlier verdicts do not count");
    if (!context.settings.json)
        fmt::print("recorded   reusing unchanged recording\n");
    return record::load_summary(files);
}

void run(Context &context, const RunOptions &options)
{
    const test::TestRequest tested = test_request(options.test);
    run::check_run_name(options.record.run);
    const record::RecordRequest request = record_request(options.record);
    test::check_oracles(tested, request.spec);
    const bool as_json = context.settings.json;
    const run::RunFiles files = {options.record.run};
    json document = json::object();
    title(context, "record");
    const record::Recorded recorded = [&] {
        RecordingProgress progress(context);
        return record::record_or_reuse(request, cache_directory(), progress.to());
    }();
    document["record"] = show_recording(context, files, recorded);
    title(context, "verify");
    const record::VerifyReport verified = verify_run(context, files, options.times);
    document["verify"] = verification_json(verified);
    if (!as_json)
        print_verification(verified);
    require_good(verified);
    title(context, "analyze");
    findings::Report rules = analyze_run(files);
    if (!as_json)
        fmt::print("{} (fencepost analyze {} shows them)\n", report::text_lines(rules).back(),
                   files.directory.string());
    title(context, "test");
    test::TestReport report = run_test(context, files, tested);
    relate(rules.findings, report.findings);
    document["analyze"] = report::to_json(rules);
    document["test"] = report_json(report);
    document["report"] = report_run(context, options.record.run, rules);
    document["warnings"] = warnings_json(files);
    if (as_json)
        print_json(document);
    else
        print_report(report, files);
    if (!as_json)
        print_warnings(files);
    if (!as_json)
        fmt::print("report     {}\n", terminal_text(document["report"].get<std::string>()));
    context.exit_code =
        findings::has_new(rules.findings) || !record::workload_finished(document["record"])
            ? 1
            : with_reach(exit_code_of(report), files);
}

} // namespace

void add_run(App &app, Context &context)
{
    App *verb = app.add_subcommand("run", "Records a workload, verifies the recording, "
                                          "applies rules to it and tests its crash states");
    auto options = std::make_shared<RunOptions>();
    add_record_arguments(*verb, options->record);
    verb->add_option("--times", options->times, "How often to record again to verify; 0: only look")
        ->range(0u, 1000u)
        ->capture_default_str();
    add_test_arguments(*verb, options->test);
    verb->footer(
        "Each part is a verb of its own: record, verify, analyze, test, report. A run that was "
        "stopped goes on where it was.");
    verb->callback([&context, options] { run(context, *options); });
}

} // namespace fencepost::cli
