// SPDX-License-Identifier: GPL-2.0-or-later
// See minimize_request.h.
#include "replayer/test/minimize_request.h"

#include <algorithm>
#include <sstream>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/interrupt.h"
#include "replayer/run/inputs.h"
#include "replayer/run/interrupted.h"
#include "replayer/states/state_walk.h"
#include "replayer/test/minimizer.h"
#include "replayer/test/pm_place.h"
#include "replayer/test/results.h"
#include "replayer/test/run_judge.h"
#include "replayer/test/test_guest.h"
#include "replayer/test/test_run.h"
#include "trace/journal.h"

namespace fencepost::test {

namespace {

std::vector<std::string> names_in(const std::string &joined)
{
    std::vector<std::string> names;
    std::istringstream text(joined);
    for (std::string name; std::getline(text, name, ',');)
        names.push_back(name);
    return names;
}

std::size_t common_prefix(const std::string &a, const std::string &b)
{
    return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first -
                                    a.begin());
}

// The findings to look at.
std::vector<Finding> chosen(std::vector<Finding> all, const std::string &id,
                            const std::filesystem::path &run)
{
    if (id.empty())
        return all;
    const auto nearest =
        std::max_element(all.begin(), all.end(), [&](const Finding &a, const Finding &b) {
            return common_prefix(a.id, id) < common_prefix(b.id, id);
        });
    if (nearest == all.end())
        fail(ErrorKind::usage, "there is no finding '{}': {} has none", id, run.string());
    if (nearest->id != id)
        fail(ErrorKind::usage, "there is no finding '{}' in {}; the nearest is {}", id,
             run.string(), nearest->id);
    return {*nearest};
}

// What there is to minimize, and what it comes from.
class Subject {
public:
    Subject(const run::RunFiles &files, const std::filesystem::path &cache,
            const MinimizeRequest &request, const MinimizeListener &listener)
        : files_(files), cache_(cache), request_(request), listener_(listener),
          reader_(checked(files).trace()), inputs_(run::load_inputs(files))
    {
        run::refuse_unfinished(reader_);
        states::require_complete(reader_);
        about_ = {reader_.recording().event_digest, KnownVerdicts(files.results()).oracles()};
        check_results(files.results(), about_);
        Results results(files.results(), about_);
        findings_ = chosen(results.findings(), request.finding, files.directory);
        baseline_ = results.baseline().value_or(Baseline());
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
        if (files.folder().kind_of("results.db") == Folder::Kind::nothing)
            fail(ErrorKind::usage, "{} was not tested yet: fencepost test {}",
                 files.directory.string(), files.directory.string());
        trace::roll_back(files.trace());
        return files;
    }

    // Error(usage) where the verdicts would not be given again.
    void check_producers(const TestGuest &guest, const oracle::Judge &judge)
    {
        about_.producers = producers_of(cache_, guest.source().config.image, files_, inputs_,
                                        names_in(about_.oracles));
        about_ = subject_of(about_, judge);
        if (const std::string changed = changed_since(files_.results(), about_); !changed.empty())
            fail(ErrorKind::usage, "{} has changed since {} was tested: fencepost test {}", changed,
                 files_.directory.string(), files_.directory.string());
    }

    void minimize(const std::vector<const Finding *> &open)
    {
        const std::unique_ptr<oracle::Judge> judge =
            make_run_judge({.run = files_,
                            .inputs = inputs_,
                            .oracles = names_in(about_.oracles),
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
            if (deadline_.passed()) {
                if (listener_.say)
                    listener_.say("time limit reached: not everything is minimized");
                break;
            }
            if (listener_.say)
                listener_.say(fmt::format("minimizing {}", each->id));
            const auto found = minimizer.minimize(*each, {request_.tests, deadline_});
            if (found)
                listener_.show(to_json(*found, initial.regions()), true);
            throw_if_interrupted();
        }
    }

    // workload.ops in the finding's folder, if it is shorter than the whole one.
    void shorten(Finding finding)
    {
        const symbols::CodeNames names(reader_);
        for (findings::Place &place : finding.places)
            place.at = names.place(place.at.event);
        if (listener_.say)
            listener_.say(fmt::format("shortening the workload for {}", finding.id));
        const std::optional<ShortenedWorkload> found =
            shorten_workload(inputs_, finding, cache_,
                             {.oracles = names_in(about_.oracles),
                              .backend = request_.backend,
                              .accelerator = request_.accelerator,
                              .operation = Operations(reader_).last_before(
                                  states::parse_crash_state(finding.state).seq),
                              .deadline = deadline_,
                              .say = listener_.say});
        if (found && found->operations < found->operations_before)
            files_.folder()
                .made_below("findings")
                .made_below(finding.id)
                .write("workload.ops", text_of(found->workload.lines));
        listener_.shortened(finding.id, found);
        throw_if_interrupted();
    }

    const run::RunFiles &files_;
    const std::filesystem::path &cache_;
    const MinimizeRequest &request_;
    const MinimizeListener &listener_;
    const trace::TraceReader reader_;
    const run::Inputs inputs_;
    ResultsSubject about_;
    std::vector<Finding> findings_;
    Baseline baseline_;
    const Deadline deadline_ =
        request_.duration ? Deadline::after(*request_.duration) : Deadline::never();
};

} // namespace

void minimize_recorded(const run::RunFiles &files, const std::filesystem::path &cache,
                       const MinimizeRequest &request, const MinimizeListener &listener)
{
    guest::check_backend_name(request.backend);
    const FileLock lock = run::lock_run(files);
    Subject(files, cache, request, listener).minimize();
}

} // namespace fencepost::test
