// SPDX-License-Identifier: GPL-2.0-or-later
// See shortened_workload.h.
#include "replayer/test/shortened_workload.h"

#include <algorithm>

#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include "base/error.h"
#include "base/files.h"
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

bool says(const findings::Finding &finding, const std::string &oracle, const std::string &summary)
{
    return (finding.oracle == oracle && finding.summary == summary) ||
           std::any_of(finding.also.begin(), finding.also.end(),
                       [&](const findings::Symptom &also) {
                           return also.oracle == oracle && also.summary == summary;
                       });
}

bool say_the_same(const findings::Finding &a, const findings::Finding &b)
{
    return says(a, b.oracle, b.summary) ||
           std::any_of(b.also.begin(), b.also.end(), [&](const findings::Symptom &also) {
               return says(a, also.oracle, also.summary);
           });
}

// An operation whose numbers have become smaller is the same.
std::string kind_of(const std::string &code)
{
    constexpr std::string_view kOperation = "in: ";
    return code.starts_with(kOperation) ? code.substr(0, code.find(' ', kOperation.size())) : code;
}

// Both are about none, or about one in common.
bool have_one_in_common(const std::vector<std::string> &a, const std::vector<std::string> &b)
{
    if (a.empty() || b.empty())
        return a.empty() && b.empty();
    return std::any_of(a.begin(), a.end(), [&](const std::string &one) {
        return std::any_of(b.begin(), b.end(), [&](const std::string &other) {
            return kind_of(one) == kind_of(other);
        });
    });
}

// A run that is removed again.
class ShorterRun {
public:
    ShorterRun(const std::filesystem::path &cache, const run::Inputs &inputs)
        : scratch_(cache), cache_(cache), files_{scratch_.path() / "run"}
    {
        const run::NewRun run(files_.directory, run::Replace::unfinished_only);
        finished_ = record::record_inputs(files_, inputs, names_of(inputs), cache,
                                          {[](const auto &) {}, {}})
                        .end == run::WorkloadEnd::finished;
    }

    bool shows(const findings::Finding &finding, const std::string &window,
               const ShortenOptions &options)
    {
        if (!finished_)
            return false;
        TestRequest request;
        request.oracles = options.oracles;
        request.own_oracles = options.own_oracles;
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
            if (objects_without_a_crash(report.baseline, finding))
                return false;
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
    // Then it is wrong by itself, and no crash has shown anything.
    static bool objects_without_a_crash(const Baseline &baseline, const findings::Finding &finding)
    {
        return std::any_of(baseline.objections.begin(), baseline.objections.end(),
                           [&](const Objection &each) {
                               return says(finding, each.evidence.oracle, each.evidence.summary);
                           });
    }

    // What gives names to code is that of the run; the files may be others on the host by now.
    run::Spec names_of(const run::Inputs &inputs) const
    {
        run::Spec names;
        names.test.incidental = inputs.test.incidental;
        for (const agent::JobFile &file : inputs.workload.files) {
            const auto path = scratch_.path() / fmt::format("file-{}", names.copies.size());
            write_file(path, file.contents);
            names.copies.push_back({path, file.path});
        }
        return names;
    }

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
    std::optional<std::string> window(const Lines &lines, const WorkloadLines &workload)
    {
        if (operation_.empty())
            return "";
        const auto found = std::find(lines.begin(), lines.end(), operation_);
        // Where only numbers have changed, it stands where it stood.
        if (found != lines.end())
            place_ = {lines.size(), static_cast<std::size_t>(found - lines.begin())};
        else if (place_.first != lines.size())
            return std::nullopt;
        const auto number = workload.number_of(lines, lines[place_.second]);
        return number ? fmt::format("op:{}-{}", *number,
                                    std::min<std::size_t>(*number + 1, workload.operations(lines)))
                      : "";
    }

private:
    const std::string operation_;
    std::pair<std::size_t, std::size_t> place_ = {0, 0}; // among so many lines, this one
};

} // namespace

bool is_same_cause(const findings::Finding &a, const findings::Finding &b)
{
    return a.verdict == b.verdict && a.decides == b.decides && say_the_same(a, b) &&
           have_one_in_common(a.absent_code, b.absent_code) &&
           have_one_in_common(a.present_code, b.present_code);
}

ShortenedWorkload shorten_workload(const WorkloadLines &workload, const findings::Finding &finding,
                                   const std::filesystem::path &cache,
                                   const ShortenOptions &options)
{
    ShortenedWorkload found;
    const Lines whole = workload.all();
    found.operations_before = workload.operations(whole);
    const Stopwatch watch;
    Whereabouts whereabouts(options.operation);
    const auto still_fails = [&](const Lines &lines) -> std::optional<bool> {
        if (options.deadline.passed() || found.interrupted)
            return std::nullopt;
        try {
            throw_if_interrupted();
            const std::optional<std::string> window = whereabouts.window(lines, workload);
            if (!window)
                return false;
            ++found.recordings;
            const bool fails =
                ShorterRun(cache, workload.with(lines)).shows(finding, *window, options);
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
    };
    found.workload = shorten(
        whole, [&](const Lines &lines) { return workload.operations(lines); }, still_fails);
    found.seconds = watch.seconds();
    found.operations = workload.operations(found.workload.lines);
    return found;
}

} // namespace fencepost::test
