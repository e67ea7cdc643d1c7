// SPDX-License-Identifier: GPL-2.0-or-later
// See test_walk.h.
#include "replayer/test/test_walk.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/interrupt.h"
#include "replayer/states/crash_turns.h"

namespace fencepost::test {

using oracle::Verdict;

namespace {

std::uint64_t judged_images(Results &results)
{
    std::uint64_t sum = 0;
    for (const auto &[verdict, count] : results.verdicts())
        sum += count;
    return sum;
}

constexpr double kSecondsPerCommit = 1;
constexpr std::chrono::milliseconds kWaitStep(100);
// States without work for a guest go by fast; the clock is looked at now and then.
constexpr std::uint64_t kKnownPerLook = 256;
constexpr image::ImageWalk::Wanted kWanted = {.labels = true, .images = true};
constexpr double kMostKeptForMinimizing = 0.25; // of the time
// Failures keep their images until they are part of a finding.
constexpr std::size_t kMostOpenFailures = 256;

Deadline deadline_of(const TestOptions &options)
{
    return options.duration ? Deadline::after(*options.duration) : Deadline::never();
}

} // namespace

TestWalk::TestWalk(const run::RunFiles &run, const trace::TraceReader &reader,
                   const WorkerPlan &plan, const TestOptions &options, Results &results,
                   const std::function<void(const TestProgress &)> &progress)
    : reader_(reader), initial_(plan.initial), options_(options), results_(results),
      progress_(progress), judge_(plan.judge), deadline_(deadline_of(options)),
      turns_(states::crash_turns(reader, options.walk, options.own_modules)),
      walk_(std::in_place, reader, plan.initial, options_of_turn(), kWanted),
      judged_before_(judged_images(results)), bugs_before_(results.bugs().size()),
      pool_(plan, options.jobs, walk_->first_step()),
      triage_({run, reader, options.walk.incidental, results}, pool_, *plan.hangs, deadline_)
{
    walk_->forget_first_step();
    const auto &strategies = options.walk.strategies;
    // One of the caller's is asked by this walk alone.
    if (progress && std::none_of(strategies.begin(), strategies.end(),
                                 [](const states::Strategy &each) { return each.own; }))
        forecast_.emplace(run.trace(), plan.initial, options.walk);
}

void TestWalk::run()
{
    while (!walk_->run(*this).stopped && next_turn()) {
    }
    report_.walk = walk_report();
    finish();
}

states::WalkOptions TestWalk::options_of_turn() const
{
    states::WalkOptions walk = options_.walk;
    if (!turns_.empty())
        walk.turn = turns_[turn_];
    return walk;
}

bool TestWalk::next_turn()
{
    if (turn_ + 1 >= turns_.size())
        return false;
    ++turn_;
    earlier_turns_.add(walk_->report());
    image::ImageStream::End end = walk_->end(); // workers hold what it was about
    walk_.emplace(reader_, initial_, options_of_turn(), kWanted, std::move(end));
    return true;
}

states::WalkReport TestWalk::walk_report() const
{
    states::WalkReport report = earlier_turns_;
    report.add(walk_->report());
    return report;
}

bool TestWalk::wants_confirmation(const image::Hash128 &identity) const
{
    // From the identity, so that the same images are chosen however the test is cut into sessions.
    const std::uint64_t drawn =
        (identity.low ^ options_.walk.seed * 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
    return static_cast<double>(drawn >> 11) * 0x1p-53 < options_.confirm;
}

std::size_t TestWalk::new_bugs() const
{
    return triage_.bugs().size() - std::min(triage_.bugs().size(), bugs_before_);
}

// Bugs of this session are minimized in the time that there is, so some of it is kept for them.
bool TestWalk::time_is_over() const
{
    if (!options_.duration)
        return false;
    const auto total = static_cast<double>(options_.duration->count());
    const double kept =
        static_cast<double>(new_bugs()) * static_cast<double>(options_.minimize.count());
    return watch_.seconds() >= total - std::min(kept, total * kMostKeptForMinimizing);
}

// Sets what stops the walk.
bool TestWalk::goes_on()
{
    if (time_is_over()) {
        triage_.ask_no_more(); // what is left of the time is for minimizing
        report_.stop = TestStop::time;
        return false;
    }
    const std::set<std::string> &bugs = triage_.bugs();
    const auto is_new = [&](const std::string &id) { return !options_.known.contains(id); };
    if (options_.bugs != UINT64_MAX && static_cast<std::uint64_t>(std::count_if(
                                           bugs.begin(), bugs.end(), is_new)) >= options_.bugs) {
        report_.stop = TestStop::bugs;
        return false;
    }
    return true;
}

bool TestWalk::image(image::ReadyImage &image)
{
    std::string id = image.id();
    const bool architectural = image.architectural();
    const auto seen = results_.see(image.identity(), judge_.expectation(image.point().seq),
                                   {image.point().seq, id, architectural});
    if (!seen.untested || pending_.contains(seen.image) || triage_.is_open(seen.image)) {
        if (++report_.known % kKnownPerLook != 0)
            return true;
        throw_if_interrupted();
        if (since_commit_.seconds() >= kSecondsPerCommit)
            collect();
        return goes_on();
    }
    if (!goes_on())
        return false;
    if (submitted_ == options_.limit) {
        report_.stop = TestStop::limit;
        return false;
    }
    submit(image, seen.image, std::move(id), architectural);
    collect();
    while (triage_.open() >= kMostOpenFailures) {
        throw_if_interrupted();
        pool_.wait_finished(kWaitStep);
        collect();
    }
    return true;
}

void TestWalk::submit(image::ReadyImage &image, std::uint64_t number, std::string id,
                      bool architectural)
{
    ++submitted_;
    Assignment assignment;
    assignment.image = number;
    assignment.state = image.crash_state();
    assignment.content = image.take();
    assignment.stores = image.stores();
    assignment.confirm_pass = wants_confirmation(image.identity());
    pending_[number] = {std::move(id),
                        architectural,
                        image.last_store(),
                        {assignment.state.choice, assignment.stores}};
    triage_.expect(number, assignment.state.seq);
    pool_.submit(std::move(assignment));
}

void TestWalk::collect()
{
    auto [outcomes, answers] = pool_.take_finished();
    std::sort(outcomes.begin(), outcomes.end(),
              [](const Outcome &a, const Outcome &b) { return a.image < b.image; });
    for (Answer &answer : answers) {
        report_.probes += answer.probes.size();
        for (const Probe &probe : answer.probes)
            report_.probe_seconds += probe.seconds;
        triage_.take(std::move(answer));
    }
    for (Outcome &outcome : outcomes)
        settle(std::move(outcome));
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
    triage_.bugs().merge(results_.bugs());
}

void TestWalk::settle(Outcome outcome)
{
    auto pending = pending_.extract(outcome.image);
    CHECK(!pending.empty(), "an outcome of an image that was submitted");
    Pending &kept = pending.mapped();
    const Verdict verdict = outcome.judgement.verdict;
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
    if (!is_failure(verdict)) {
        results_.put_outcome(outcome, "");
        if (verdict == Verdict::pass)
            triage_.pass(outcome.image, std::move(kept.passing));
        else
            triage_.refuse(outcome.image);
        return;
    }
    ++pace_.failing;
    pace_.failing_seconds +=
        outcome.judge_seconds + outcome.restore_seconds + outcome.patch_seconds;
    triage_.add({std::move(outcome), std::move(kept.state), kept.architectural, kept.last_store});
}

void TestWalk::finish()
{
    while (!pending_.empty() || triage_.open() != 0) {
        throw_if_interrupted();
        pool_.wait_finished(kWaitStep);
        collect();
    }
    pool_.close();
    while (!pool_.done())
        pool_.wait_finished(kWaitStep);
    throw_if_interrupted();
    report_.seconds = watch_.seconds();
    report_.workers = pool_.counts();
    results_.commit();
    show_progress();
}

void TestWalk::stop()
{
    pool_.stop();
    report_.seconds = watch_.seconds();
    collect();
    triage_.stop_asking();
}

std::optional<double> TestWalk::seconds_left()
{
    if (report_.tested == 0)
        return std::nullopt;
    pace_.seconds = watch_.seconds();
    pace_.tested = report_.tested;
    pace_.unexplained = triage_.open();
    const TestPace start = paces_.half_way(pace_);
    std::optional<std::uint64_t> images;
    if (options_.limit != UINT64_MAX)
        images = options_.limit - report_.tested;
    if (const auto all = forecast_ ? forecast_->images() : std::nullopt) {
        const std::uint64_t ahead = *all - std::min(*all, judged_before_ + report_.tested);
        images = std::min(images.value_or(ahead), ahead);
    }
    std::optional<double> left;
    if (images)
        left = seconds_to_test(start, pace_, *images);
    if (left)
        *left += static_cast<double>(new_bugs()) *
                 seconds_to_minimize(pace_, static_cast<double>(options_.minimize.count()));
    if (options_.duration) {
        const double most =
            std::max(0.0, static_cast<double>(options_.duration->count()) - pace_.seconds);
        left = std::min(left.value_or(most), most);
    }
    return left;
}

void TestWalk::show_progress()
{
    if (!progress_)
        return;
    const auto infra = report_.verdicts.find(to_string(Verdict::infra_error));
    const TestProgress now = {report_.tested, triage_.findings(),
                              infra == report_.verdicts.end() ? 0 : infra->second, watch_.seconds(),
                              seconds_left()};
    progress_(now);
}

} // namespace fencepost::test
