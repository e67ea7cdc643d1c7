// SPDX-License-Identifier: GPL-2.0-or-later
// See collect.h.
#include "replayer/report/collect.h"

#include <algorithm>

#include <fmt/format.h>

#include "analyzer/report/run_formats.h"
#include "base/error.h"
#include "replayer/record/reach.h"
#include "replayer/report/epochs.h"
#include "replayer/report/module_coverage.h"
#include "replayer/run/inputs.h"
#include "replayer/run/workload_end.h"
#include "replayer/states/trace_options.h"

namespace fencepost::collect {

using report::RunReport;
using trace::Statement;

namespace {

constexpr std::size_t kMostTimelines = 24;      // each costs passes over the trace
constexpr std::size_t kMostText = 400;          // of an operation
constexpr std::uint64_t kLongTrace = 1'000'000; // one whose reading takes a while

std::string shortened(std::string_view text)
{
    return text.size() <= kMostText ? std::string(text)
                                    : std::string(text.substr(0, kMostText)) + "...";
}

// The outcome of a trace that was not recorded here may say anything.
std::string why_not_finished(const trace::Recording &recording)
{
    using enum run::WorkloadEnd;
    if (recording.state != trace::RecordingState::complete)
        return fmt::format("the recording is {}", name_of(recording.state));
    for (const run::WorkloadEnd end : {failed, timed_out, hung, panicked, powered_off, rebooted})
        if (recording.outcome.starts_with(to_string(end)))
            return "the workload did not finish: " + recording.outcome;
    return "";
}

void add_recording(const OpenedRun &run, RunReport &report)
{
    const trace::TraceReader &reader = run.reader();
    const auto directory = std::filesystem::absolute(run.files().directory).lexically_normal();
    report.name = directory.has_filename() ? directory.filename().string()
                                           : directory.parent_path().filename().string();
    report.run = run.shown();
    report.version = FENCEPOST_VERSION;
    report.outcome = reader.recording().outcome;
    report.recording_state = name_of(reader.recording().state);
    report.events = reader.event_count();
    for (auto &[key, value] : reader.meta())
        if (key == "spec")
            report.spec = value;
        else
            report.meta.emplace_back(key, value);
    for (const trace::DataQuality &each : reader.data_quality())
        report.quality.push_back(
            {each.name, each.value, std::string(name_of(each.severity)), each.meaning});
    for (const trace::DataQuality &warning : record::reach_warnings(reader))
        report.warnings.push_back(warning.meaning);
    report.not_reached = record::why_no_pass(reader);
    report.not_finished = why_not_finished(reader.recording());
}

void add_functions(const OpenedRun &run, RunReport &report)
{
    for (const trace::SiteRow &row : run.names().sites()) {
        report.event_kinds["store"] += row.counts.stores;
        report.event_kinds["nt_store"] += row.counts.nt_stores;
        report.event_kinds["flush"] += row.counts.flushes;
        report.event_kinds["fence"] += row.counts.fences;
        report.code_sites += row.site.id != 0;
    }
    report.named_code_sites =
        report.code_sites - std::min(report.code_sites, run.names().nameless_sites());
    Statement rows(run.reader().connection(),
                   "SELECT function, module, stores + nt_stores, flushes, fences, volatile_flushes "
                   "FROM function_count ORDER BY 3 DESC, 4 DESC, 5 DESC, 1, 2");
    while (rows.step())
        report.functions.push_back({std::string(rows.text(0)), std::string(rows.text(1)),
                                    rows.number(2), rows.number(3), rows.number(4),
                                    rows.number(5)});
    report.modules = module_coverage(run);
}

void add_operations(const OpenedRun &run, std::span<const CrashPointCount> crash_points,
                    RunReport &report)
{
    Statement rows(run.reader().connection(),
                   "SELECT number, text, first_seq, last_seq FROM operation ORDER BY first_seq");
    while (rows.step()) {
        report::Operation &operation = report.operations.emplace_back();
        operation.number = rows.integer(0);
        operation.text = shortened(rows.text(1));
        operation.first_seq = rows.number(2);
        if (!rows.is_null(3))
            operation.last_seq = rows.number(3);
        const auto after = [](std::uint64_t seq, const CrashPointCount &point) {
            return seq < point.seq;
        };
        auto point =
            std::upper_bound(crash_points.begin(), crash_points.end(), operation.first_seq, after);
        for (; point != crash_points.end() && point->seq <= operation.last_seq.value_or(UINT64_MAX);
             ++point) {
            operation.tested += point->tested;
            operation.failing += point->failing;
        }
    }
}

void add_promise(const OpenedRun &run, bool was_held, RunReport &report)
{
    if (report.test.tested && !was_held)
        return; // no oracle compared trees
    if (run.files().folder().kind_of(run.files().inputs().filename()) != Folder::Kind::file)
        return; // a trace by itself
    const run::Inputs inputs = run::load_inputs(run.files());
    if (!inputs.mount)
        return;
    const agent::MountRequest &mount = inputs.mount->request;
    const run::ChosenPromise promise =
        run::choose_promise(mount.fstype, mount.options, inputs.test.promise);
    report.promise = fmt::format("{}: {}", promise.name, describe(promise.promise));
    report.promise_source = promise.source;
}

// As the last test read the trace.
states::WalkOptions walk_options(const OpenedRun &run, const report::TestOutcome &outcome)
{
    states::WalkOptions options;
    if (!outcome.sessions.empty()) {
        const report::Session &last = outcome.sessions.back();
        options.model = model::model_named(last.model).value_or(options.model);
        options.fences = model::fence_rule_named(last.fences).value_or(options.fences);
    }
    return states::in_trace(options, run.reader(), "", run.incidental());
}

void add_findings(const OpenedRun &run, const std::vector<findings::Finding> &all,
                  const std::function<void(const std::string &line)> &say, RunReport &report)
{
    FindingShower shower(run);
    std::size_t timelines = 0;
    for (const findings::Finding &finding : all) {
        report::ShownFinding shown = shower.show(finding);
        if (timelines == kMostTimelines) {
            shown.no_timeline = fmt::format("the first {} findings have one; the others: "
                                            "fencepost show {} {}",
                                            kMostTimelines, report.run, finding.id);
        } else {
            if (timelines == 0 && run.reader().event_count() > kLongTrace)
                say("reading what happened around findings");
            shower.add_timeline(shown);
            timelines += shown.timeline.has_value();
        }
        report.findings.push_back(std::move(shown));
    }
}

} // namespace

RunReport collect_report(const OpenedRun &run, findings::Report rules,
                         const std::function<void(const std::string &line)> &say)
{
    RunReport report;
    ResultsView results = read_results(run.files(), run.reader(), run.names());
    report.test = std::move(results.outcome);
    add_recording(run, report);
    add_functions(run, report);
    add_operations(run, results.crash_points, report);
    add_promise(run, results.has_promise, report);
    report.rules = std::move(rules.summary);
    report.catalog = std::move(rules.catalog);
    try {
        if (run.reader().event_count() > kLongTrace)
            say("reading epochs");
        add_epochs(run.reader(), run.names(), walk_options(run, report.test), results.crash_points,
                   report);
    } catch (const Error &error) {
        if (error.kind() != ErrorKind::trace)
            throw;
        report.no_epochs = error.what();
    }
    add_findings(run, all_findings(std::move(rules.findings), std::move(results.findings)), say,
                 report);
    return report;
}

std::vector<std::string> write_page(const run::RunFiles &files, const report::RunReport &report,
                                    const std::string &page)
{
    const Folder folder = files.folder();
    folder.write(files.report_data().filename().string(), report::render("json", report, {}));
    folder.write(files.report_page().filename().string(), page);
    return {files.report_page().string(), files.report_data().string()};
}

} // namespace fencepost::collect
