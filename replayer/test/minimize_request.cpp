// SPDX-License-Identifier: GPL-2.0-or-later
// See minimize_request.h.
#include "replayer/test/minimize_request.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/time_limit.h"
#include "replayer/run/inputs.h"
#include "replayer/run/interrupted.h"
#include "replayer/states/state_walk.h"
#include "replayer/test/known_results.h"
#include "replayer/test/minimizer.h"
#include "replayer/test/pm_place.h"
#include "replayer/test/results.h"
#include "replayer/test/run_judge.h"
#include "replayer/test/test_guest.h"
#include "replayer/test/test_run.h"
#include "trace/journal.h"

namespace fencepost::test {

namespace {

// What there is to minimize, and what it comes from.
class Subject {
public:
    Subject(const run::RunFiles &files, const std::filesystem::path &cache,
            const MinimizeRequest &request, const MinimizeListener &listener, Deadline deadline)
        : files_(files), cache_(cache), request_(request), listener_(listener), deadline_(deadline),
          reader_(checked(files).trace()), inputs_(run::load_inputs(files))
    {
        run::refuse_unfinished(reader_);
        states::require_complete(reader_);
        KnownResults known(files, reader_.recording().event_digest);
        about_ = {reader_.recording().event_digest, known.oracle_list()};
        oracles_ = known.oracles();
        if (request.finding.empty())
            findings_ = known.findings();
        else
            findings_ = {known.finding(request.finding)};
        baseline_ = known.baseline().value_or(Baseline());
    }

    void minimize()
    {
        std::vector<const Finding *> open;
        for (const Finding &each : findings_) {
            if (!request_.force && is_minimized(files_, each))
                listener_.show(kept_minimal(files_, each.id), false);
            else if (!each.state.empty())
                open.push_back(&each);
        }
        if (!open.empty())
            minimize(open);
        if (request_.workload)
            for (const Finding &each : findings_)
                if (!each.state.empty() && !deadline_.passed())
                    shorten(each);
    }

private:
    static const run::RunFiles &checked(const run::RunFiles &files)
    {
        run::check_folders(files);
        trace::roll_back(files.trace());
        return files;
    }

    // Error(usage) where the verdicts would not be given again.
    void check_producers(const TestGuest &guest, const oracle::Judge &judge)
    {
        about_.producers = producers_of(cache_, guest.source().config.image, files_, inputs_,
                                        oracles_, request_.own_oracles);
        about_ = subject_of(about_, judge);
        if (const std::string changed = changed_since(files_.results(), about_); !changed.empty())
            fail(ErrorKind::usage, "{} has changed since {} was tested: fencepost test {}", changed,
                 files_.directory.string(), files_.directory.string());
    }

    void minimize(const std::vector<const Finding *> &open)
    {
        const std::unique_ptr<oracle::Judge> judge = make_run_judge({.run = files_,
                                                                     .inputs = inputs_,
                                                                     .oracles = oracles_,
                                                                     .own = request_.own_oracles,
                                                                     .cache = cache_,
                                                                     .progress = listener_.say});
        const TestGuest guest(cache_, request_.backend, inputs_.config, request_.accelerator,
                              listener_.say);
        check_producers(guest, *judge);
        judge->mask(baseline_.evidence());
        judge->expect_space(baseline_.used);
        const PmPlace place(cache_, guest.source().config, 1);
        const image::InitialImage initial(reader_);
        const trace::IncidentalFences incidental(
            reader_,
            trace::incidental_functions(request_.incidental.empty() ? inputs_.test.incidental
                                                                    : request_.incidental));
        const WorkerPlan plan = {guest.templates(), guest.source(), initial, *judge, place.path()};
        Minimizer minimizer(files_, reader_, incidental, plan);
        for (const Finding *each : open) {
            if (deadline_.passed())
                break;
            if (listener_.say)
                listener_.say(fmt::format("minimizing {}", each->id));
            const auto found = minimizer.minimize(*each, {request_.tests, deadline_});
            if (found)
                listener_.show(to_json(*found, initial.regions()), true);
            throw_if_interrupted();
        }
    }

    // In the finding's folder, if it is shorter than the whole one.
    void shorten(Finding finding)
    {
        const std::optional<WorkloadLines> workload = WorkloadLines::of(inputs_);
        if (!workload) {
            listener_.shortened(finding.id, std::nullopt);
            return;
        }
        const symbols::CodeNames names(reader_);
        for (findings::Place &place : finding.places)
            place.at = names.place(place.at.event);
        if (listener_.say)
            listener_.say(fmt::format("shortening the workload for {}", finding.id));
        const ShortenedWorkload found =
            shorten_workload(*workload, finding, cache_,
                             {.oracles = oracles_,
                              .own_oracles = request_.own_oracles,
                              .backend = request_.backend,
                              .accelerator = request_.accelerator,
                              .operation = Operations(reader_).last_before(
                                  states::parse_crash_state(finding.state).seq),
                              .deadline = deadline_,
                              .say = listener_.say});
        if (found.operations < found.operations_before)
            files_.folder()
                .made_below("findings")
                .made_below(finding.id)
                .write(workload->file(), workload->text_of(found.workload.lines));
        listener_.shortened(finding.id, found);
        throw_if_interrupted();
    }

    const run::RunFiles &files_;
    const std::filesystem::path &cache_;
    const MinimizeRequest &request_;
    const MinimizeListener &listener_;
    const Deadline deadline_;
    const trace::TraceReader reader_;
    const run::Inputs inputs_;
    ResultsSubject about_;
    std::vector<std::string> oracles_; // that gave the verdicts
    std::vector<Finding> findings_;
    Baseline baseline_;
};

} // namespace

void minimize_recorded(const run::RunFiles &files, const std::filesystem::path &cache,
                       const MinimizeRequest &request, const MinimizeListener &listener)
{
    guest::check_backend_name(request.backend);
    const FileLock lock = run::lock_run(files);
    const Deadline deadline =
        request.duration ? Deadline::after(*request.duration) : Deadline::never();
    const TimeLimit limit(deadline); // also in the midst of a test or a recording
    try {
        Subject(files, cache, request, listener, deadline).minimize();
    } catch (const Error &error) {
        if (error.kind() != ErrorKind::interrupted || !limit.reached())
            throw;
    }
    if (deadline.passed() && listener.say)
        listener.say("time limit reached");
}

} // namespace fencepost::test
