// SPDX-License-Identifier: GPL-2.0-or-later
// See baseline.h.
#include "replayer/test/baseline.h"

#include <algorithm>
#include <cstring>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/scratch.h"
#include "replayer/oracle/oracle.h"
#include "replayer/record/recorder.h"
#include "replayer/run/inputs.h"
#include "replayer/states/window.h"

namespace fencepost::test {

namespace fs = std::filesystem;
using oracle::Verdict;
using trace::kLineBytes;

namespace {

constexpr std::size_t kLogLimit = 64 << 10;

// The lines in which PM files differ from the initial image. `files`: by device of the guest.
std::vector<image::LineContent> lines_of(const std::vector<fs::path> &files, const WorkerPlan &plan)
{
    std::vector<image::LineContent> lines;
    image::PmCopy initial(plan.initial);
    for (std::size_t i = 0; i < files.size(); ++i) {
        const std::string bytes = read_file(files[i]);
        const std::uint64_t first = guest::pm_base(plan.source.config, i) / kLineBytes;
        for (std::uint64_t line = 0; line < bytes.size() / kLineBytes; ++line) {
            const char *now = bytes.data() + line * kLineBytes;
            const std::byte *before = initial.line(first + line);
            if (!before || std::memcmp(before, now, kLineBytes) == 0)
                continue;
            lines.push_back({.line = first + line});
            std::memcpy(lines.back().bytes.data(), now, kLineBytes);
        }
    }
    return lines;
}

// Operations up to and with the mark, which prepare the test; false: there is no mark.
bool cut_at_mark(agent::OpsProgram &program)
{
    for (std::size_t i = 0; i < program.phases.size(); ++i)
        for (agent::OpsThread &thread : program.phases[i].threads) {
            const auto mark =
                std::find_if(thread.ops.begin(), thread.ops.end(),
                             [](const agent::Op &op) { return op.kind == agent::OpKind::mark; });
            if (mark == thread.ops.end())
                continue;
            thread.ops.erase(mark + 1, thread.ops.end());
            program.phases.resize(i + 1);
            return true;
        }
    return false;
}

// The same workload, which ends at its mark; nothing: it has none that can be cut at.
std::optional<run::Inputs> preparation(run::Inputs inputs)
{
    run::workload_of(inputs); // there is one
    std::vector<agent::JobStep> &steps = inputs.workload.steps;
    agent::JobStep &step = steps[inputs.workload_step];
    if (step.kind != agent::StepKind::ops || !cut_at_mark(step.ops))
        return std::nullopt;
    steps.resize(inputs.workload_step + 1);
    return inputs;
}

class BaselineRun {
public:
    explicit BaselineRun(const WorkerPlan &plan) : worker_(plan, 0, first_) {}

    void judge(const char *name, std::vector<image::LineContent> lines, std::uint64_t crash_seq)
    {
        Assignment assignment;
        assignment.content.step = first_;
        assignment.content.in_flight = std::move(lines);
        assignment.state.seq = crash_seq;
        assignment.crashed = false;
        const Outcome outcome = worker_.test(assignment);
        baseline.images.emplace_back(name);
        if (outcome.judgement.used_when_empty)
            baseline.used.push_back(*outcome.judgement.used_when_empty);
        for (oracle::Evidence each : outcome.judgement.evidence) {
            if (!is_maskable(each) && each.details.is_object())
                each.details["kernel_log"] = outcome.judgement.kernel_log.substr(0, kLogLimit);
            baseline.objections.push_back({name, std::move(each)});
        }
    }

    Baseline baseline;

private:
    std::shared_ptr<const image::ImageStep> first_ = std::make_shared<image::ImageStep>();
    Worker worker_;
};

} // namespace

bool Objection::masked() const
{
    return is_maskable(evidence);
}

bool Objection::ends_trust() const
{
    return oracle::ends_trust(evidence);
}

bool Baseline::fails() const
{
    return std::any_of(objections.begin(), objections.end(), [](const Objection &each) {
        return !each.masked() && !each.ends_trust() && is_failure(each.evidence.verdict);
    });
}

std::string why_left_out(const std::string &oracle)
{
    return fmt::format("{} judged no crash image: what the workload leaves without a crash is not "
                       "in the history that it compares with",
                       oracle);
}

std::set<std::string> Baseline::left_out() const
{
    std::set<std::string> oracles;
    for (const Objection &each : objections)
        if (each.ends_trust())
            oracles.insert(each.evidence.oracle);
    return oracles;
}

bool Baseline::stops() const
{
    return std::any_of(objections.begin(), objections.end(), [](const Objection &each) {
        return each.image == kInitialImage && each.evidence.oracle != "program" &&
               is_failure(each.evidence.verdict) && each.evidence.verdict > Verdict::inconsistent;
    });
}

std::vector<oracle::Evidence> Baseline::evidence() const
{
    std::vector<oracle::Evidence> all;
    for (const Objection &each : objections)
        all.push_back(each.evidence);
    return all;
}

Baseline judge_baseline(const WorkerPlan &plan, const run::RunFiles &run, const fs::path &cache,
                        const std::function<void(const std::string &line)> &say)
{
    BaselineRun judging(plan);
    Baseline &baseline = judging.baseline;
    const run::Inputs inputs = run::load_inputs(run);
    const bool is_prepared = states::first_crash_seq(trace::TraceReader(run.trace())) != 0;
    const std::optional<run::Inputs> prepares = is_prepared ? preparation(inputs) : std::nullopt;
    // A program's own preparation cannot be run without the rest.
    if (!is_prepared)
        judging.judge(kInitialImage, {}, 0);
    const auto judge_end_of = [&](const run::Inputs &workload, const char *name,
                                  std::uint64_t crash_seq) {
        const ScratchDirectory scratch(cache);
        record::Recorder recorder(cache, {[](const std::string &) {}, {}});
        judging.judge(name, lines_of(recorder.clean_end(workload, scratch.path()), plan),
                      crash_seq);
    };
    try {
        if (prepares)
            judge_end_of(*prepares, kInitialImage, 0);
        if (baseline.stops())
            return std::move(baseline);
        if (say)
            say("running the workload once more, to judge what it leaves without a crash");
        judge_end_of(inputs, kFinalImage, UINT64_MAX);
    } catch (const Error &error) {
        if (error.kind() != ErrorKind::guest)
            throw;
        baseline.missing = error.what();
    }
    return std::move(baseline);
}

} // namespace fencepost::test
