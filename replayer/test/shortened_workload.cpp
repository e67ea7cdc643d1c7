// SPDX-License-Identifier: GPL-2.0-or-later
// See shortened_workload.h.
#include "replayer/test/shortened_workload.h"

#include <algorithm>

#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/scratch.h"
#include "replayer/record/record_run.h"
#include "replayer/test/test_request.h"

namespace fencepost::test {

namespace {

// Of one shorter workload. The finding is among the first, or it is not there.
constexpr std::uint64_t kMostImages = 400;
constexpr std::uint64_t kMostBugs = 4;
constexpr std::chrono::seconds kMostTime(60);

// A run that is removed again.
class ShorterRun {
public:
    ShorterRun(const std::filesystem::path &cache, const run::Inputs &inputs)
        : scratch_(cache), cache_(cache), files_{scratch_.path() / "run"}
    {
        const run::NewRun run(files_.directory, run::Replace::unfinished_only);
        run::Spec names;
        names.test.incidental = inputs.test.incidental;
        finished_ =
            record::record_inputs(files_, inputs, names, cache, {[](const auto &) {}, {}}).end ==
            run::WorkloadEnd::finished;
    }

    bool shows(const findings::Finding &finding, const std::string &window,
               const ShortenOptions &options)
    {
        if (!finished_)
            return false;
        TestRequest request;
        request.oracles = options.oracles;
        request.backend = options.backend;
        request.accelerator = options.accelerator;
        request.window = window;
        request.jobs = 1;
        request.limit = kMostImages;
        request.duration = kMostTime;
        request.confirm = 0;
        // It goes on where it was, if what it stopped for is another bug.
        for (request.bugs = 1; request.bugs <= kMostBugs; ++request.bugs) {
            const TestReport report = test_recorded(files_, cache_, request, {});
            if (std::any_of(
                    report.findings.begin(), report.findings.end(),
                    [&](const findings::Finding &each) { return is_same_cause(each, finding); }))
                return true;
            if (report.stop != TestStop::bugs)
                break;
        }
        return false;
    }

private:
    ScratchDirectory scratch_;
    const std::filesystem::path &cache_;
    const run::RunFiles files_;
    bool finished_ = false;
};

// The operation of interest in workloads that get shorter.
class Whereabouts {
public:
    explicit Whereabouts(std::string operation) : operation_(std::move(operation)) {}

    // The part of the recording to test; nothing: the operation is not among the lines.
    std::optional<std::string> window(const Lines &lines, const agent::OpsProgram &program)
    {
        if (operation_.empty())
            return "";
        const auto found = std::find(lines.begin(), lines.end(), operation_);
        // Where only numbers have changed, it stands where it stood.
        if (found != lines.end())
            place_ = {lines.size(), static_cast<std::size_t>(found - lines.begin())};
        else if (place_.first != lines.size())
            return std::nullopt;
        const std::string &text = lines[place_.second];
        for (const agent::OpsPhase &phase : program.phases)
            for (const agent::OpsThread &thread : phase.threads)
                for (const agent::Op &op : thread.ops)
                    if (op.text == text && op.number != 0)
                        return fmt::format(
                            "op:{}-{}", op.number,
                            std::min<std::size_t>(op.number + 1, operations_in(program)));
        return "";
    }

private:
    const std::string operation_;
    std::pair<std::size_t, std::size_t> place_ = {0, 0}; // among so many lines, this one
};

} // namespace

bool is_same_cause(const findings::Finding &a, const findings::Finding &b)
{
    if (a.verdict != b.verdict || a.oracle != b.oracle)
        return false;
    bool comparable = false;
    for (const std::string_view role : {findings::kAbsent, findings::kPresent}) {
        const findings::Place *const one = place_of(a, role);
        const findings::Place *const other = place_of(b, role);
        if (one && other && one->at.code.function == other->at.code.function)
            return true;
        comparable = comparable || one || other;
    }
    return !comparable && a.summary == b.summary;
}

std::optional<ShortenedWorkload> shorten_workload(const run::Inputs &inputs,
                                                  const findings::Finding &finding,
                                                  const std::filesystem::path &cache,
                                                  const ShortenOptions &options)
{
    if (run::workload_of(inputs).kind != agent::StepKind::ops)
        return std::nullopt;
    const agent::OpsProgram &whole = run::workload_of(inputs).ops;
    ShortenedWorkload found;
    found.operations_before = operations_in(whole);
    const Stopwatch watch;
    Whereabouts whereabouts(options.operation);
    found.workload = shorten(lines_of(whole), [&](const Lines &lines) -> std::optional<bool> {
        if (options.deadline.passed() || found.interrupted)
            return std::nullopt;
        try {
            throw_if_interrupted();
            run::Inputs shorter = inputs;
            agent::OpsProgram &program = shorter.workload.steps[inputs.workload_step].ops;
            program = *program_of(lines);
            const std::optional<std::string> window = whereabouts.window(lines, program);
            if (!window)
                return false;
            ++found.recordings;
            const bool fails = ShorterRun(cache, shorter).shows(finding, *window, options);
            if (options.say)
                options.say(fmt::format("workload of {} lines: {}", lines.size(),
                                        fails ? "still fails" : "does not show it"));
            return fails;
        } catch (const Error &error) {
            found.interrupted = error.kind() == ErrorKind::interrupted;
            if (error.kind() == ErrorKind::internal)
                throw;
            spdlog::debug("a shorter workload could not be tested: {}", error.what());
            return found.interrupted ? std::nullopt : std::optional(false);
        }
    });
    found.seconds = watch.seconds();
    found.operations = operations_in(*program_of(found.workload.lines));
    return found;
}

} // namespace fencepost::test
