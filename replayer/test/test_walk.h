// SPDX-License-Identifier: GPL-2.0-or-later
// The crash images of a test, from the walk to the workers and from there into the results.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>

#include "base/deadline.h"
#include "replayer/image/image_walk.h"
#include "replayer/test/forecast.h"
#include "replayer/test/pool/worker_pool.h"
#include "replayer/test/results.h"
#include "replayer/test/test_run.h"
#include "replayer/test/triage.h"

namespace fencepost::test {

// One thread walks the trace, makes images and writes the results; the workers have theirs.
class TestWalk : public image::ImageListener {
public:
    // `plan` and `options` are borrowed, as is what they name.
    TestWalk(const run::RunFiles &run, const trace::TraceReader &reader, const WorkerPlan &plan,
             const TestOptions &options, Results &results,
             const std::function<void(const TestProgress &)> &progress);

    // Throws as test_run() does.
    void run();
    // Instead of the rest of it, after a throw: what is finished is kept.
    void stop();

    TestReport &report() { return report_; }
    states::WalkReport walk_report() const;

private:
    // What is kept of a state until its image has a verdict.
    struct Pending {
        std::string state;
        bool architectural = true;
        trace::EventRef last_store; // before the power failure
        PassingState passing = {};  // if it does
    };

    states::WalkOptions options_of_turn() const;
    bool next_turn();
    bool image(image::ReadyImage &image) override;
    void submit(image::ReadyImage &image, std::uint64_t number, std::string id, bool architectural);
    bool goes_on();
    bool time_is_over() const;
    void finish();
    void collect();
    void settle(Outcome outcome);
    bool wants_confirmation(const image::Hash128 &identity) const;
    void count_bugs();
    std::size_t new_bugs() const; // in this session
    void show_progress();
    std::optional<double> seconds_left();

    const trace::TraceReader &reader_;
    const image::InitialImage &initial_;
    const TestOptions &options_;
    Results &results_;
    const std::function<void(const TestProgress &)> &progress_;
    const oracle::Judge &judge_;
    const Deadline deadline_;
    Stopwatch watch_;
    Stopwatch since_commit_;
    const std::vector<std::vector<states::Span>> turns_; // none: one walk takes everything
    std::size_t turn_ = 0;
    states::WalkReport earlier_turns_;
    std::optional<image::ImageWalk> walk_;               // of this turn
    std::unordered_map<std::uint64_t, Pending> pending_; // by image
    std::uint64_t submitted_ = 0;
    const std::uint64_t judged_before_; // images, in earlier sessions
    const std::size_t bugs_before_;     // likewise
    TestReport report_;
    WorkerPool pool_;
    Triage triage_;
    TestPace pace_;
    PaceHistory paces_;                // at each progress
    std::optional<Forecast> forecast_; // only for somebody who looks
};

} // namespace fencepost::test
