// SPDX-License-Identifier: GPL-2.0-or-later
// See test_run.h. One thread walks the trace, makes images and writes the results; the workers have
// theirs.
#include "replayer/test/test_run.h"

#include <algorithm>
#include <atomic>
#include <set>
#include <unordered_map>

#include <spdlog/spdlog.h>

#include "base/error.h"
#include "base/interrupt.h"
#include "replayer/image/image_stream.h"
#include "replayer/image/in_flight_stores.h"
#include "replayer/states/legality.h"
#include "replayer/test/finding_files.h"
#include "replayer/test/grouping.h"
#include "replayer/test/pm_place.h"
#include "replayer/test/pool/worker_pool.h"
#include "replayer/test/workload_finding.h"
#include "trace/code_names.h"

namespace fencepost::test {

namespace fs = std::filesystem;
using oracle::Verdict;

namespace {

constexpr double kSecondsPerCommit = 1;
constexpr std::chrono::milliseconds kWaitStep(100);
// States without work for a guest go by fast; the clock is looked at now and then.
constexpr std::uint64_t kKnownPerLook = 256;

// What is kept of a state until its image has a verdict.
struct Pending {
    std::string state;
    bool architectural = true;
    image::InFlightStore last_store; // before the power failure
};

// What the workload was doing; empty where no operation was going on.
std::string operation_at(const trace::TraceReader &reader, std::uint64_t seq)
{
    std::string operation;
    reader.for_each_marker(
        [&](const trace::MarkerRow &row) {
            if (row.kind == trace::MarkerKind::op_begin)
                operation = row.marker.text;
            else if (row.kind == trace::MarkerKind::op_end)
                operation.clear();
        },
        0, seq);
    return operation;
}

class TestWalk : public states::StateListener {
public:
    TestWalk(const run::RunFiles &run, const trace::TraceReader &reader,
             const image::InitialImage &initial, const WorkerPlan &plan, const TestOptions &options,
             Results &results, const std::function<void(const TestProgress &)> &progress)
        : run_(run), reader_(reader), options_(options), results_(results), progress_(progress),
          names_(reader), images_(initial), stream_(images_),
          legality_(options.walk.model, options.walk.promise), judge_(plan.judge),
          grouping_(results.findings()), findings_(results.findings().size()),
          plan_(with_grouping(plan)), pool_(plan_, options.jobs, stream_.first())
    {
        stream_.forget_first();
        count_bugs();
    }

    void set_walk(const states::StateWalk &walk) { walk_ = &walk; }

    void event(std::uint64_t seq, const trace::Event &event, std::span<const std::byte> wide_values,
               const model::InFlight &in_flight) override
    {
        const bool changes = images_.event(event, wide_values, in_flight);
        legality_.event(seq, event, wide_values, in_flight, changes);
        if (event.is_store())
            last_store_ = {seq, event.site, event.stack};
    }

    void crash_point(const states::CrashPoint &, const states::ItemTable *items,
                     const model::InFlight &in_flight) override
    {
        images_.crash_point(items, in_flight);
        legality_.crash_point(in_flight);
        items_ = items;
        stores_.reset();
    }

    bool state(const states::State &state) override;

    // After the walk.
    void finish();
    // Instead of the rest of it.
    void stop();

    TestReport &report() { return report_; }

private:
    void collect();
    WorkerPlan with_grouping(WorkerPlan plan);
    bool time_is_over() const
    {
        return options_.duration &&
               watch_.seconds() >= static_cast<double>(options_.duration->count());
    }
    image::StateStores stores_of(const states::State &state);
    void settle(const Outcome &outcome);
    std::string file_finding(const Outcome &outcome, const Pending &pending);
    bool wants_confirmation(const image::Hash128 &identity) const;
    void count_bugs();
    void show_progress();
    std::optional<double> seconds_left() const;

    const run::RunFiles &run_;
    const trace::TraceReader &reader_;
    const TestOptions &options_;
    Results &results_;
    const std::function<void(const TestProgress &)> &progress_;
    trace::CodeNames names_;
    const states::StateWalk *walk_ = nullptr;
    image::StateImages images_;
    image::ImageStream stream_;
    states::Legality legality_;
    // Of the crash point.
    const states::ItemTable *items_ = nullptr;
    states::ItemTable own_items_; // where no strategy asks for items
    std::shared_ptr<const image::InFlightStores> stores_;
    image::InFlightStore last_store_;
    oracle::Judge &judge_;
    Grouping grouping_;
    std::size_t findings_;
    std::set<std::string> bugs_;                         // those among them that are bugs
    std::unordered_map<std::uint64_t, Pending> pending_; // by image
    std::uint64_t submitted_ = 0;
    std::uint64_t first_seq_ = 0; // of the first image that was submitted
    std::uint64_t seq_ = 0;       // of the latest
    TestReport report_;
    Stopwatch watch_;
    Stopwatch since_commit_;
    std::atomic<bool> stopping_ = false;
    WorkerPlan plan_;
    WorkerPool pool_; // last: its threads use the rest
};

bool TestWalk::wants_confirmation(const image::Hash128 &identity) const
{
    // From the identity, so that the same images are chosen however the test is cut into sessions.
    const std::uint64_t drawn =
        (identity.low ^ options_.walk.seed * 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
    return static_cast<double>(drawn >> 11) * 0x1p-53 < options_.confirm;
}

WorkerPlan TestWalk::with_grouping(WorkerPlan plan)
{
    plan.explained_by = [this](const oracle::Evidence &failure, const Explanation &explanation) {
        return grouping_.explained_by(failure, explanation);
    };
    plan.may_probe = [this] { return !stopping_ && !time_is_over(); };
    return plan;
}

image::StateStores TestWalk::stores_of(const states::State &state)
{
    if (!items_) {
        walk_->build_items(own_items_);
        items_ = &own_items_;
    }
    if (!stores_)
        stores_ = std::make_shared<image::InFlightStores>(*items_);
    return {stores_, stores_->parts_of(state, *items_)};
}

bool TestWalk::state(const states::State &state)
{
    const image::Hash128 identity = images_.hash(state);
    const auto seen = results_.see(identity, judge_.expectation(state.point.seq));
    const bool architectural = options_.walk.fences == model::FenceRule::architectural ||
                               legality_.legal_architecturally(state);
    const std::string id = states::text_of(walk_->id_of(state));
    results_.add_origin(seen.number, state.point.seq, id, architectural);
    const bool known = !seen.untested || pending_.contains(seen.number);
    if (known) {
        ++report_.known;
        stream_.skip();
        if (report_.known % kKnownPerLook != 0)
            return true;
        throw_if_interrupted();
        if (since_commit_.seconds() >= kSecondsPerCommit)
            collect();
    }
    if (time_is_over()) {
        report_.stop = TestStop::time;
        return false;
    }
    if (bugs_.size() >= options_.bugs) {
        report_.stop = TestStop::bugs;
        return false;
    }
    if (known)
        return true;
    if (submitted_ == options_.limit) {
        report_.stop = TestStop::limit;
        return false;
    }
    pending_[seen.number] = {id, architectural, last_store_};
    if (submitted_++ == 0)
        first_seq_ = state.point.seq;
    seq_ = state.point.seq;
    Assignment assignment;
    assignment.image = seen.number;
    assignment.content = stream_.take(state);
    assignment.stores = stores_of(state);
    assignment.crash_seq = state.point.seq;
    assignment.confirm_pass = wants_confirmation(identity);
    pool_.submit(std::move(assignment));
    collect();
    return true;
}

void TestWalk::collect()
{
    std::vector<Outcome> finished = pool_.take_finished();
    std::sort(finished.begin(), finished.end(),
              [](const Outcome &a, const Outcome &b) { return a.image < b.image; });
    for (const Outcome &outcome : finished)
        settle(outcome);
    if (since_commit_.seconds() >= kSecondsPerCommit) {
        results_.commit();
        count_bugs();
        since_commit_ = {};
        show_progress();
    }
}

// A warning may have become one, by a state of an image that was judged before.
void TestWalk::count_bugs()
{
    for (const Finding &finding : results_.findings())
        if (finding.severity == "bug")
            bugs_.insert(finding.id);
}

void TestWalk::settle(const Outcome &outcome)
{
    const auto pending = pending_.find(outcome.image);
    CHECK(pending != pending_.end(), "an outcome of an image that was submitted");
    const Verdict verdict = outcome.judgement.verdict;
    results_.put_outcome(outcome,
                         is_failure(verdict) ? file_finding(outcome, pending->second) : "");
    pending_.erase(pending);
    ++report_.tested;
    ++report_.verdicts[to_string(verdict)];
    for (const std::string &what : outcome.judgement.not_tried)
        ++report_.not_tried[what];
    report_.confirmed += outcome.confirmed && !outcome.disagreed;
    report_.judge_seconds += outcome.judge_seconds;
    report_.guest_seconds += outcome.judgement.guest_seconds;
    report_.oracle_seconds += outcome.judgement.oracle_seconds;
    report_.restore_seconds += outcome.restore_seconds;
    report_.patch_seconds += outcome.patch_seconds;
    report_.probes += outcome.probes;
    report_.probe_seconds += outcome.probe_seconds;
}

std::string TestWalk::file_finding(const Outcome &outcome, const Pending &pending)
{
    auto [finding, shows] =
        grouping_.place(deciding_evidence(outcome.judgement), outcome.explanation);
    if (pending.architectural)
        bugs_.insert(finding.id);
    if (!shows) {
        results_.add_to_finding(finding);
        return finding.id;
    }
    findings_ += finding.images == 1;
    FindingStacks stacks;
    const auto describe = [&](const image::InFlightStore &store, std::vector<std::string> &stack) {
        stack = names_.stack(store.stack);
        return FindingStore{store.site, names_.site(store.site), operation_at(reader_, store.seq)};
    };
    if (finding.absent)
        finding.absent = describe(*outcome.explanation.decided->absent, stacks.absent);
    if (finding.present)
        finding.present = describe(*outcome.explanation.decided->present, stacks.present);
    finding.last = describe(pending.last_store, stacks.last);
    finding.severity = bugs_.contains(finding.id) ? "bug" : "warning";
    finding.title = title_of(deciding_evidence(outcome.judgement));
    finding.image = outcome.image;
    finding.state = pending.state;
    write_finding(run_, reader_, finding, outcome.judgement, stacks, options_.walk.incidental);
    results_.put_finding(finding);
    return finding.id;
}

void TestWalk::finish()
{
    pool_.close();
    while (!pool_.done()) {
        throw_if_interrupted();
        pool_.wait_finished(kWaitStep);
        collect();
    }
    throw_if_interrupted();
    CHECK(pending_.empty(), "every image that was submitted has an outcome");
    report_.seconds = watch_.seconds();
    report_.workers = pool_.counts();
    results_.commit();
    show_progress();
}

void TestWalk::stop()
{
    stopping_ = true;
    pool_.stop();
    report_.seconds = watch_.seconds();
    collect();
}

std::optional<double> TestWalk::seconds_left() const
{
    if (report_.tested == 0)
        return std::nullopt;
    const double elapsed = watch_.seconds();
    const double rate = static_cast<double>(report_.tested) / elapsed;
    std::optional<double> left;
    const auto at_most = [&](double seconds) { left = left ? std::min(*left, seconds) : seconds; };
    if (options_.limit != UINT64_MAX)
        at_most(static_cast<double>(options_.limit - report_.tested) / rate);
    if (options_.duration)
        at_most(std::max(0.0, static_cast<double>(options_.duration->count()) - elapsed));
    // States are spread over the trace more or less evenly; what is left of it is the best guess.
    const std::uint64_t last_seq = std::min(reader_.event_count(), options_.walk.window.last_seq);
    if (seq_ > first_seq_)
        at_most(elapsed * static_cast<double>(last_seq - seq_) /
                static_cast<double>(seq_ - first_seq_));
    return left;
}

void TestWalk::show_progress()
{
    if (!progress_)
        return;
    const auto infra = report_.verdicts.find(to_string(Verdict::infra_error));
    progress_({report_.tested, findings_, infra == report_.verdicts.end() ? 0 : infra->second,
               watch_.seconds(), seconds_left()});
}

} // namespace

namespace {

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

TestReport stopped_by(Baseline baseline, const oracle::Judge &judge, Results &results)
{
    TestReport report;
    report.stop = TestStop::baseline;
    report.promise = judge.promise();
    report.baseline = std::move(baseline);
    results.end_session({to_string(report.stop), 0, 0, 0});
    report.all_verdicts = results.verdicts();
    report.findings = results.findings();
    return report;
}

} // namespace

bool TestReport::found_bugs() const
{
    if (baseline.fails())
        return true;
    for (const Finding &finding : findings)
        if (finding.severity == "bug")
            return true;
    return false;
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
    states::StateWalk walk(reader, options.walk);
    const PmPlace place(guest.cache(), guest.source().config, options.jobs);
    if (options.restart)
        forget_results(run);
    ResultsSubject subject = {reader.recording().event_digest, options.oracles, options.producers};
    if (const auto promise = judge.promise()) // by default it comes from a table of fencepost's
        subject.producers.push_back(
            {"promise", "the promise held against the file system", describe(promise->promise)});
    const std::string changed = changed_since(run.results(), subject);
    if (!changed.empty()) {
        if (options.say)
            options.say(fmt::format("{} has changed: earlier verdicts do not count", changed));
        forget_results(run);
    }
    Results results(run.results(), subject);
    results.begin_session({states::text_of(options.walk.strategies),
                           std::string(name_of(options.walk.model)),
                           std::string(name_of(options.walk.fences)), options.walk.seed,
                           options.jobs, guest.describe()});
    if (const auto finding = workload_finding(run, reader.recording())) {
        results.put_workload_finding(*finding);
        write_workload_finding(run, *finding);
    }
    const image::InitialImage initial(reader);
    const WorkerPlan plan = {guest.templates(), guest.source(),      initial, judge,
                             place.path(),      options.always_fresh};
    Baseline baseline = baseline_of(plan, run, guest, options, results);
    if (baseline.stops())
        return stopped_by(std::move(baseline), judge, results);
    TestWalk listener(run, reader, initial, plan, options, results, progress);
    listener.set_walk(walk);
    TestReport &report = listener.report();
    report.promise = judge.promise();
    report.started_anew = changed;
    try {
        report.walk = walk.run(listener);
        listener.finish();
    } catch (const Error &error) {
        // What is finished is finished, whatever stopped the rest.
        try {
            listener.stop();
            results.end_session({error.kind() == ErrorKind::interrupted ? "interrupted" : "trouble",
                                 report.seconds, walk.report().generated, report.tested});
        } catch (const Error &worse) {
            spdlog::debug("what was tested last could not be kept: {}", worse.what());
        }
        throw;
    }
    results.end_session(
        {to_string(report.stop), report.seconds, report.walk.generated, report.tested});
    report.baseline = std::move(baseline);
    report.masked = results.masked();
    report.all_verdicts = results.verdicts();
    report.disagreements = results.disagreements();
    report.infra_reasons = results.infra_reasons();
    report.states = results.states();
    report.findings = results.findings();
    update_findings(run, report.findings);
    return report;
}

} // namespace fencepost::test
