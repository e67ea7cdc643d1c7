// SPDX-License-Identifier: GPL-2.0-or-later
// See state_asker.h.
#include "replayer/test/state_asker.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include <spdlog/spdlog.h>

#include "base/error.h"
#include "base/interrupt.h"

namespace fencepost::test {

using image::OpenPoint;
using oracle::Verdict;
using states::Levels;

StateAsker::StateAsker(const WorkerPlan &plan, KnownVerdicts &known)
    : judge_(plan.judge), known_(known), step_(std::make_shared<image::ImageStep>()),
      worker_(plan, 0, step_)
{
}

void StateAsker::begin(const findings::Finding &finding, const Limits &limits)
{
    finding_ = finding.id;
    failures_.clear();
    const auto add = [&](const std::string &verdict, const std::string &oracle,
                         const std::string &summary) {
        oracle::Evidence &failure = failures_.emplace_back();
        failure.oracle = oracle;
        failure.verdict = oracle::verdict_named(verdict);
        failure.summary = summary;
    };
    add(finding.verdict, finding.oracle, finding.summary);
    for (const findings::Symptom &also : finding.also)
        add(also.verdict, also.oracle, also.summary);
    limits_ = limits;
    asked_.clear();
    from_results_ = 0;
    watch_ = {};
}

// What is guaranteed at another crash point is one step further in the chain that the worker
// follows, whichever of them is earlier.
void StateAsker::enter(OpenPoint &point)
{
    const std::vector<image::LineContent> lines = point.guaranteed_changes();
    std::vector<std::uint64_t> changed;
    for (const image::LineContent &each : lines)
        changed.push_back(each.line);
    std::vector<std::uint64_t> back; // as they were initially
    std::set_difference(changed_.begin(), changed_.end(), changed.begin(), changed.end(),
                        std::back_inserter(back));
    auto step = std::make_shared<image::ImageStep>();
    step->number = step_->number + 1;
    step->lines = lines;
    for (const std::uint64_t line : back) {
        step->lines.push_back({.line = line});
        std::memcpy(step->lines.back().bytes.data(), point.guaranteed(line), trace::kLineBytes);
    }
    step_->next = step;
    step_ = step;
    changed_ = std::move(changed);
}

Assignment StateAsker::assignment(OpenPoint &point, const Levels &levels) const
{
    Assignment made = {.state = point.state(levels), .content = {}};
    made.content.step = step_;
    made.content.in_flight = point.lines_in_flight(levels);
    made.content.identity = point.identity(levels);
    return made;
}

bool StateAsker::is_alike(const oracle::Evidence &evidence) const
{
    return std::any_of(failures_.begin(), failures_.end(), [&](const oracle::Evidence &failure) {
        return same_failure(evidence, failure);
    });
}

Said StateAsker::said_of(const oracle::Judgement &judgement) const
{
    if (judgement.verdict == Verdict::pass)
        return Said::passes;
    return oracle::is_failure(judgement.verdict) && is_alike(deciding_evidence(judgement))
               ? Said::fails_alike
               : Said::other;
}

std::optional<Said> StateAsker::known_answer(OpenPoint &point, const Levels &levels)
{
    const auto known = known_.find(point.identity(levels), judge_.expectation(point.point().seq));
    if (!known)
        return std::nullopt;
    ++from_results_;
    if (known->verdict == Verdict::pass)
        return Said::passes;
    return known->finding == finding_ || (known->evidence && is_alike(*known->evidence))
               ? Said::fails_alike
               : Said::other;
}

bool StateAsker::may_ask() const
{
    return !interrupted_ && asked_.size() < limits_.tests && !limits_.deadline.passed();
}

// What was found out until now is kept, whatever ends the search.
template <typename Work> void StateAsker::guarded(Work &&work)
{
    try {
        throw_if_interrupted();
        work();
    } catch (const Error &error) {
        interrupted_ = error.kind() == ErrorKind::interrupted;
        if (!interrupted_ && error.kind() != ErrorKind::guest)
            throw;
        spdlog::debug("a state could not be tested: {}", error.what());
    }
}

std::optional<Said> StateAsker::ask(OpenPoint &point, const Levels &levels)
{
    if (const std::optional<Said> known = known_answer(point, levels))
        return known;
    std::optional<Said> said;
    if (!may_ask())
        return said;
    guarded([&] {
        const Assignment tested = assignment(point, levels);
        const Stopwatch watch;
        const oracle::Judgement judgement = worker_.look(tested);
        said = said_of(judgement);
        asked_.push_back({states::id_of(tested.state), judgement.verdict, *said, watch.seconds()});
    });
    return said;
}

bool StateAsker::confirm(OpenPoint &point, const Levels &levels, Said said)
{
    bool confirmed = false;
    if (interrupted_)
        return false;
    guarded([&] {
        Assignment tested = assignment(point, levels);
        tested.confirm_pass = true;
        const Stopwatch watch;
        const Outcome outcome = worker_.test(tested);
        confirmed = outcome.confirmed && outcome.repeats && said_of(outcome.judgement) == said;
        asked_.push_back({states::id_of(tested.state), outcome.judgement.verdict,
                          said_of(outcome.judgement), watch.seconds()});
    });
    return confirmed;
}

std::vector<Levels> StateAsker::known_passes(OpenPoint &point)
{
    std::vector<Levels> passes;
    states::CrashState here = point.state(point.levels());
    for (const states::CrashState &passed : known_.passes_at(point.point().seq)) {
        here.choice = passed.choice;
        if (passed == here)
            passes.push_back(point.levels_of(passed.choice));
    }
    return passes;
}

} // namespace fencepost::test
