// SPDX-License-Identifier: GPL-2.0-or-later
// See test_run.h.
#include "replayer/test/test_run.h"

#include <spdlog/spdlog.h>

#include "analyzer/findings/relate.h"
#include "analyzer/symbols/code_names.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/time_limit.h"
#include "replayer/test/finding_files.h"
#include "replayer/test/minimizer.h"
#include "replayer/test/pm_place.h"
#include "replayer/test/test_walk.h"
#include "replayer/test/workload_finding.h"

namespace fencepost::test {

namespace {

// Earlier verdicts that do not count: the user says so, or what produced them has changed. Returns
// what has.
std::string forget_outdated(const run::RunFiles &run, const ResultsSubject &subject,
                            const TestOptions &options)
{
    if (options.restart)
        forget_results(run);
    std::string changed = changed_since(run.results(), subject);
    if (changed.empty())
        return changed;
    if (options.say)
        options.say(fmt::format("{} has changed: earlier verdicts do not count", changed));
    forget_results(run);
    return changed;
}

void begin_session(Results &results, const TestGuest &guest, const TestOptions &options)
{
    results.begin_session({states::text_of(options.walk.strategies),
                           std::string(name_of(options.walk.model)),
                           std::string(name_of(options.walk.fences)), options.walk.seed,
                           options.jobs, guest.describe()});
}

// Judged once for all sessions.
Baseline baseline_of(const WorkerPlan &plan, const run::RunFiles &run, const TestGuest &guest,
                     const TestOptions &options, Results &results)
{
    if (!plan.judge.has_baseline())
        return {};
    std::optional<Baseline> baseline = results.baseline();
    if (!baseline) {
        baseline = judge_baseline(plan, run, guest.cache(), options.say);
        results.put_baseline(*baseline);
    }
    plan.judge.mask(baseline->evidence());
    plan.judge.expect_space(baseline->used);
    return *baseline;
}

// Of all sessions, with the names of their code.
std::vector<Finding> findings_in(Results &results, const trace::TraceReader &reader)
{
    const symbols::CodeNames names(reader);
    std::vector<Finding> all = results.findings();
    for (Finding &finding : all)
        findings::name_places(finding, names);
    return all;
}

TestReport stopped_by(Baseline baseline, const oracle::Judge &judge, Results &results,
                      const trace::TraceReader &reader)
{
    TestReport report;
    report.stop = TestStop::baseline;
    report.promise = judge.promise();
    report.baseline = std::move(baseline);
    results.end_session({to_string(report.stop), 0, 0, 0});
    report.all_verdicts = results.verdicts();
    report.findings = findings_in(results, reader);
    return report;
}

// Ends the session too. What is finished is finished, whatever stops the rest. A user who stops a
// test wants to know what it has found until then.
void run_to_the_end(TestWalk &walk, Results &results)
{
    TestReport &report = walk.report();
    try {
        walk.run();
    } catch (const Error &error) {
        bool interrupted = error.kind() == ErrorKind::interrupted;
        try {
            walk.stop();
            report.walk = walk.walk_report();
            results.end_session({interrupted ? to_string(TestStop::interrupted) : "trouble",
                                 report.seconds, report.walk.generated, report.tested});
        } catch (const Error &worse) {
            spdlog::debug("what was tested last could not be kept: {}", worse.what());
            interrupted = false;
        }
        if (!interrupted)
            throw;
        report.stop = TestStop::interrupted;
        return;
    }
    results.end_session(
        {to_string(report.stop), report.seconds, report.walk.generated, report.tested});
}

// Not those that were minimized before, nor when the time is over.
void minimize_bugs(const run::RunFiles &run, const trace::TraceReader &reader,
                   const WorkerPlan &of_test, const TestOptions &options, const Deadline &until,
                   Results &results, TestReport &report)
{
    std::vector<Finding> open;
    for (Finding &each : results.findings())
        if (each.severity == findings::Severity::bug && !each.state.empty() &&
            !is_minimized(run, each))
            open.push_back(std::move(each));
    if (options.minimize.count() == 0 || open.empty() || until.passed() ||
        report.stop == TestStop::interrupted)
        return;
    WorkerPlan plan = of_test;
    plan.directory /= "minimize";
    const TimeLimit limit(until); // a test of a hang alone can take a minute
    try {
        Minimizer minimizer(run, reader, options.walk.incidental, plan);
        for (const Finding &each : open) {
            if (options.say)
                options.say(fmt::format("minimizing {}", each.id));
            if (const auto found =
                    minimizer.minimize(each, {.deadline = until.earlier_of(options.minimize)})) {
                report.minimize_tests += found->asked.size();
                report.minimize_seconds += found->seconds;
            }
            throw_if_interrupted();
        }
    } catch (const Error &error) {
        if (error.kind() != ErrorKind::interrupted || !limit.reached())
            throw;
    }
}

// As minimal.json has it, which may be of an earlier session.
std::map<std::string, std::string> minimal_sentences(const run::RunFiles &run,
                                                     const std::vector<Finding> &findings)
{
    std::map<std::string, std::string> sentences;
    for (const Finding &each : findings)
        if (std::string text = kept_sentence(run, each); !text.empty())
            sentences[each.id] = std::move(text);
    return sentences;
}

void add_all_sessions(TestReport &report, Results &results, const trace::TraceReader &reader)
{
    report.masked = results.masked();
    report.all_verdicts = results.verdicts();
    report.disagreements = results.disagreements();
    report.infra_reasons = results.infra_reasons();
    report.states = results.states();
    report.findings = findings_in(results, reader);
}

} // namespace

ResultsSubject subject_of(ResultsSubject subject, const oracle::Judge &judge)
{
    if (const auto promise = judge.promise()) // by default it comes from a table of fencepost's
        subject.producers.push_back(
            {"promise", "the promise held against the file system", describe(promise->promise)});
    return subject;
}

bool TestReport::found_bugs() const
{
    return baseline.fails() || findings::has_new(findings);
}

const char *to_string(TestStop stop)
{
    switch (stop) {
    case TestStop::end:
        return "end";
    case TestStop::limit:
        return "limit";
    case TestStop::time:
        return "time";
    case TestStop::bugs:
        return "bugs";
    case TestStop::baseline:
        return "baseline";
    case TestStop::interrupted:
        return "interrupted";
    }
    return "unknown";
}

void forget_results(const run::RunFiles &run)
{
    run::remove_results(run.folder());
}

TestReport test_run(const run::RunFiles &run, const TestGuest &guest, oracle::Judge &judge,
                    const TestOptions &given,
                    const std::function<void(const TestProgress &)> &progress)
{
    TestOptions options = given;
    options.walk.promise = [&judge](std::uint64_t seq) { return judge.expectation(seq); };
    const trace::TraceReader reader(run.trace());
    states::require_complete(reader);
    const PmPlace place(guest.cache(), guest.source().config, options.jobs);
    const ResultsSubject subject =
        subject_of({reader.recording().event_digest, options.oracles, options.producers}, judge);
    const std::string changed = forget_outdated(run, subject, options);
    Results results(run.results(), subject);
    begin_session(results, guest, options);
    if (const auto finding = workload_finding(run, reader.recording())) {
        results.put_workload_finding(*finding);
        write_workload_finding(run, *finding);
    }
    const image::InitialImage initial(reader);
    const WorkerPlan plan = {guest.templates(), guest.source(),      initial, judge,
                             place.path(),      options.always_fresh};
    Baseline baseline = baseline_of(plan, run, guest, options, results);
    if (baseline.stops())
        return stopped_by(std::move(baseline), judge, results, reader);
    TestWalk walk(run, reader, plan, options, results, progress);
    TestReport &report = walk.report();
    report.promise = judge.promise();
    report.started_anew = changed;
    report.baseline = std::move(baseline);
    const Deadline until =
        options.duration ? Deadline::after(*options.duration) : Deadline::never();
    run_to_the_end(walk, results);
    minimize_bugs(run, reader, plan, options, until, results, report);
    add_all_sessions(report, results, reader);
    update_findings(run, report.findings);
    report.minimal = minimal_sentences(run, report.findings);
    return report;
}

} // namespace fencepost::test
