// SPDX-License-Identifier: GPL-2.0-or-later
// `fencepost run`: record, verify, analyze and test one workload.
#include <cstdio>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "analyzer/findings/relate.h"
#include "analyzer/report/json.h"
#include "analyzer/report/text.h"
#include "base/places.h"
#include "base/shell_word.h"
#include "base/terminal_text.h"
#include "cli/reach_warnings.h"
#include "cli/record_verb.h"
#include "cli/report_verb.h"
#include "cli/test_verb.h"
#include "replayer/record/record_json.h"
#include "replayer/record/summary.h"
#include "replayer/report/analyzed_run.h"
#include "replayer/test/test_json.h"

namespace fencepost::cli {

namespace {

using nlohmann::json;

constexpr std::size_t kMostRuleBugs = 10; // shown at the end of a run

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

// Those that no crash state shows.
void print_rule_bugs(const std::vector<findings::Finding> &by_rules, const run::RunFiles &files)
{
    std::size_t bugs = 0;
    for (const findings::Finding &finding : by_rules) {
        if (finding.severity != findings::Severity::bug || finding.known ||
            !finding.part_of.empty())
            continue;
        if (++bugs == 1)
            fmt::print("rules      bugs that no crash state has shown:\n");
        if (bugs <= kMostRuleBugs)
            for (const std::string &line : report::text_lines(finding))
                fmt::print("{}\n", terminal_text(line));
    }
    if (bugs > kMostRuleBugs)
        fmt::print("  and {} more: fencepost analyze {}\n", bugs - kMostRuleBugs,
                   shell_word(files.directory.string()));
}

void run(Context &context, const RunOptions &options)
{
    test::TestRequest tested = test_request(options.test);
    TestBaseline baseline(options.test, options.record.force);
    tested.known = baseline.ids();
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
    document["verify"] = record::verification_json(verified);
    if (!as_json)
        print_verification(verified);
    require_good(verified);
    title(context, "analyze");
    findings::Report rules = collect::analyze_run(files);
    if (!as_json)
        fmt::print("{} (fencepost analyze {} shows them)\n", report::text_lines(rules).back(),
                   shell_word(files.directory.string()));
    title(context, "test");
    test::TestReport report = run_test(context, files, tested);
    relate(rules.findings, report.findings);
    baseline.mark(rules.findings);
    baseline.mark(report.findings);
    baseline.write({rules.findings, report.findings});
    for (const std::string &sentence : baseline.gone())
        progress(context, sentence);
    document["analyze"] = report::to_json(rules);
    document["test"] = test::report_json(report);
    const bool interrupted = report.stop == test::TestStop::interrupted;
    document["report"] =
        interrupted ? json() : json(report_run(context, options.record.run, rules));
    document["warnings"] = record::warnings_json(files);
    if (as_json)
        print_json(document);
    else
        print_report(report, files);
    if (!as_json) {
        print_rule_bugs(rules.findings, files);
        print_warnings(files);
        if (!interrupted)
            fmt::print("report     {}\n", terminal_text(document["report"].get<std::string>()));
    }
    context.exit_code =
        interrupted ? exit_code_of(report)
        : findings::has_new(rules.findings) || !record::workload_finished(document["record"])
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
    verb->examples(
        {{"run docs/how-to/ledger.toml -o run", "a workload with a planted bug"},
         {"run spec.toml -o run --for 10m --jobs 2", "ten minutes of testing, two guests"},
         {"run spec.toml -o run --bugs 1", "up to the first bug"}});
    verb->callback([&context, options] { run(context, *options); });
}

} // namespace fencepost::cli
