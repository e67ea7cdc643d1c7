// SPDX-License-Identifier: GPL-2.0-or-later
// See worker.h.
#include "replayer/guest/pool/worker.h"

#include <utility>

#include <spdlog/spdlog.h>

#include "base/error.h"
#include "base/files.h"

namespace fencepost::guest {

namespace fs = std::filesystem;
using oracle::Judgement;
using oracle::Verdict;

namespace {

constexpr std::chrono::minutes kRestoreTime(2);
constexpr int kRestoreTries = 3;
// For the tests that explain one failure.
constexpr double kMostProbeSeconds = 30;

Judgement of_lost_guest(Verdict verdict, const std::string &what, const std::string &log)
{
    Judgement judgement;
    judgement.verdict = verdict;
    judgement.evidence.push_back({"guest", verdict, what, nlohmann::json::object()});
    judgement.kernel_log = log;
    return judgement;
}

// Texts of a lost guest hold numbers of its own; the summary must be the same whenever the same
// thing is wrong.
std::string summary_of(GuestEnd end)
{
    switch (end) {
    case GuestEnd::powered_off:
        return "the guest powered itself off";
    case GuestEnd::rebooted:
        return "the guest rebooted";
    case GuestEnd::panicked:
        return "the guest's kernel panicked";
    case GuestEnd::hung:
        return "the guest did not answer in time";
    case GuestEnd::agent_broken:
        return "the guest answered nonsense";
    case GuestEnd::machine_died:
        return "QEMU died";
    }
    return "the guest was lost";
}

// `what`: that contradicts the warm guest.
oracle::Evidence disagreement(const std::string &what, const Judgement &warm,
                              const Judgement &other)
{
    return {"harness",
            Verdict::infra_error,
            fmt::format("the warm guest and {} disagree", what),
            {{"warm", to_string(warm.verdict)}, {"other", to_string(other.verdict)}}};
}

bool kernel_oopsed(const std::string &log)
{
    for (const char *words :
         {"Oops: ", "BUG: ", "kernel BUG at", "general protection fault", "Kernel panic"})
        if (log.find(words) != std::string::npos)
            return true;
    return false;
}

} // namespace

Verdict verdict_of(GuestEnd end)
{
    switch (end) {
    case GuestEnd::powered_off:
    case GuestEnd::rebooted:
    case GuestEnd::panicked:
        return Verdict::guest_crash;
    case GuestEnd::hung:
        return Verdict::guest_hang;
    case GuestEnd::agent_broken:
    case GuestEnd::machine_died:
        break;
    }
    return Verdict::infra_error;
}

Worker::Worker(const WorkerPlan &plan, unsigned number,
               std::shared_ptr<const image::ImageStep> first)
    : plan_(plan), directory_(plan.directory / fmt::format("worker{}", number)),
      held_(plan.initial, std::move(first))
{
    // Both from the beginning, so that no change of the image is missed.
    for (Seat *seat : {&warm_, &fresh_}) {
        const fs::path directory = directory_ / (seat == &warm_ ? "warm" : "fresh");
        make_directories(directory);
        seat->files = std::make_unique<PmFiles>(directory, plan_.initial, plan_.source.config);
    }
}

Worker::~Worker() = default;

void Worker::sit(Seat &seat, Outcome &outcome)
{
    const Stopwatch watch;
    for (int tries = 1; !seat.guest; ++tries) {
        try {
            ++counts_.restores;
            seat.guest = plan_.templates.restore(plan_.source, seat.files->paths(),
                                                 Deadline::after(kRestoreTime));
            seat.files->watch(seat.guest->machine());
            plan_.judge.prepare(*seat.guest);
        } catch (const Error &error) {
            seat.guest.reset();
            if (error.kind() != ErrorKind::guest || tries == kRestoreTries)
                throw;
            spdlog::debug("a worker's guest could not be restored: {}", error.what());
        }
    }
    outcome.restore_seconds += watch.seconds();
}

void Worker::leave(Seat &seat)
{
    if (!seat.guest)
        return;
    seat.guest.reset();
    seat.files->suspect_everything();
}

std::optional<Judgement> Worker::attempt(Seat &seat, const Assignment &assignment, Outcome &outcome,
                                         Judgement &lost)
{
    const Stopwatch patching;
    seat.files->sync(held_);
    outcome.patch_seconds += patching.seconds();
    sit(seat, outcome);
    const Stopwatch judging;
    std::optional<Judgement> said;
    try {
        said = plan_.judge.judge({*seat.guest, seat.files->paths(), assignment.crash_seq});
    } catch (const GuestLost &end) {
        lost = of_lost_guest(verdict_of(end.end()), summary_of(end.end()),
                             seat.guest->log().kernel_log());
        lost.evidence[0].details["message"] = end.what();
        lost.evidence[0].details["console"] = seat.guest->log().console();
    } catch (const AgentLost &end) {
        // The agent's server died and the guest lives: an oops in one of its system calls does
        // that.
        const std::string log = seat.guest->log().kernel_log();
        const bool crash = kernel_oopsed(log);
        lost = of_lost_guest(crash ? Verdict::guest_crash : Verdict::infra_error,
                             crash ? "the kernel killed a process of the guest's agent"
                                   : "the guest's agent died",
                             log);
        lost.evidence[0].details["message"] = end.what();
    } catch (const Error &error) {
        if (error.kind() != ErrorKind::guest) {
            leave(seat); // what it wrote is not undone, and not to be taken for somebody else's
            throw;
        }
        lost = of_lost_guest(Verdict::infra_error, "the guest could not be judged",
                             seat.guest->log().kernel_log());
        lost.evidence[0].details["message"] = error.what();
    }
    outcome.judge_seconds += judging.seconds();
    const Stopwatch undoing;
    if (!said) {
        ++outcome.lost_guests;
        ++counts_.lost_guests;
        leave(seat);
    } else if (!trusts_touched_) {
        seat.files->suspect_everything();
    } else if (!seat.files->suspect_touched()) {
        trusts_touched_ = false;
        track_was_lost_ = true;
    }
    outcome.patch_seconds += undoing.seconds();
    return said;
}

// A guest that crashed or hung is not one to go on with, though it still answers.
std::optional<Judgement> Worker::attempt_warm(const Assignment &assignment, Outcome &outcome,
                                              Judgement &lost)
{
    auto said = attempt(warm_, assignment, outcome, lost);
    if (said && (said->guest_spent || said->verdict > Verdict::recovery_failed))
        leave(warm_);
    return said;
}

Judgement Worker::judge_warm(const Assignment &assignment, Outcome &outcome)
{
    Judgement first;
    if (auto said = attempt_warm(assignment, outcome, first))
        return *said;
    Judgement second;
    if (auto said = attempt_warm(assignment, outcome, second)) // restored: as fresh as can be
        second = std::move(*said);
    // A killed QEMU says nothing about the image: what counts is what the second guest says, as if
    // it were the first. A crash that does not come again says that something of another image was
    // left in the guest, or that recovery fails by chance.
    if (first.verdict == Verdict::infra_error)
        return second;
    outcome.confirmed = true;
    if (first.verdict != second.verdict) {
        outcome.disagreed = true;
        first.evidence.push_back(disagreement("the second attempt", first, second));
        return first;
    }
    outcome.repeats = same_failure(deciding_evidence(first), deciding_evidence(second));
    return second;
}

Judgement Worker::judge_fresh(const Assignment &assignment, Outcome &outcome)
{
    leave(fresh_);
    Judgement lost;
    auto said = attempt(fresh_, assignment, outcome, lost);
    leave(fresh_);
    if (!said && lost.verdict == Verdict::infra_error) {
        said = attempt(fresh_, assignment, outcome, lost);
        leave(fresh_);
    }
    return said ? *said : lost;
}

void Worker::show(const image::CrashImage &image)
{
    held_.show(image, [&](std::uint64_t line) {
        for (Seat *seat : {&warm_, &fresh_})
            seat->files->suspect_line(line);
    });
}

std::optional<bool> Worker::fails_alike(const Assignment &assignment,
                                        const oracle::Evidence &failure,
                                        const image::PartChoice &parts)
{
    image::CrashImage image;
    image.step = assignment.content.step;
    show(image);
    image.in_flight = assignment.stores.in_flight->lines(
        parts, [&](std::uint64_t line) { return held_.line(line); });
    show(image);
    Outcome cost;
    Judgement said;
    if (plan_.always_fresh)
        said = judge_fresh(assignment, cost);
    else if (auto warm = attempt_warm(assignment, cost, said))
        said = std::move(*warm);
    if (said.verdict == Verdict::infra_error || said.verdict == Verdict::guest_hang)
        return std::nullopt;
    return is_failure(said.verdict) && same_failure(deciding_evidence(said), failure);
}

void Worker::explain(const Assignment &assignment, Outcome &outcome)
{
    Explanation &explanation = outcome.explanation;
    explanation.missing = first_of_each_site(assignment.stores, false);
    explanation.present = first_of_each_site(assignment.stores, true);
    const oracle::Evidence &failure = deciding_evidence(outcome.judgement);
    // A guest that hangs does so for its whole time limit: too long to be done again and again.
    if (failure.verdict == Verdict::guest_hang || !outcome.repeats)
        return;
    if (plan_.explained_by)
        explanation.like = plan_.explained_by(failure, explanation);
    if (!explanation.like.empty())
        return;
    const Stopwatch watch;
    bool has_time = true;
    const auto probe = [&](const image::PartChoice &parts) -> std::optional<bool> {
        has_time = !plan_.may_probe || plan_.may_probe();
        if (!has_time || watch.seconds() > kMostProbeSeconds)
            return std::nullopt;
        ++outcome.probes;
        return fails_alike(assignment, failure, parts);
    };
    try {
        explanation.decided = find_deciding_stores(assignment.stores, probe);
        explanation.could_not_be = !explanation.decided && has_time;
    } catch (const Error &error) {
        // The image has its verdict. Trouble of the machine that stays is met by the next one or by
        // the audit, and so is an interrupt.
        if (error.kind() != ErrorKind::guest && error.kind() != ErrorKind::io &&
            error.kind() != ErrorKind::interrupted)
            throw;
        spdlog::debug("what decides was not found out: {}", error.what());
    }
    outcome.probe_seconds = watch.seconds();
}

Outcome Worker::test(const Assignment &assignment)
{
    Outcome outcome = judge_image(assignment);
    if (is_failure(outcome.judgement.verdict) && assignment.stores.in_flight)
        explain(assignment, outcome);
    return outcome;
}

Outcome Worker::judge_image(const Assignment &assignment)
{
    Outcome outcome;
    outcome.image = assignment.image;
    const Stopwatch patching;
    show(assignment.content);
    outcome.patch_seconds += patching.seconds();
    if (plan_.always_fresh) {
        outcome.judgement = judge_fresh(assignment, outcome);
        return outcome;
    }
    outcome.judgement = judge_warm(assignment, outcome);
    const Verdict verdict = outcome.judgement.verdict;
    const bool doubtful =
        verdict == Verdict::pass ? assignment.confirm_pass : verdict != Verdict::infra_error;
    if (doubtful && !outcome.confirmed) {
        Judgement fresh = judge_fresh(assignment, outcome);
        outcome.confirmed = true;
        outcome.disagreed = fresh.verdict != verdict;
        if (outcome.disagreed)
            outcome.judgement.evidence.push_back(
                disagreement("a fresh one", outcome.judgement, fresh));
        else {
            outcome.repeats =
                !is_failure(verdict) ||
                same_failure(deciding_evidence(fresh), deciding_evidence(outcome.judgement));
            outcome.judgement = std::move(fresh);
        }
    }
    if (outcome.disagreed) {
        leave(warm_);
        outcome.judgement.verdict = Verdict::infra_error;
    }
    return outcome;
}

bool Worker::audit()
{
    if (plan_.always_fresh)
        return true;
    ++counts_.audits;
    warm_.files->sync(held_);
    warm_.files->suspect_everything();
    const bool track_was_lost = std::exchange(track_was_lost_, false);
    if (warm_.files->sync(held_) == 0 && !track_was_lost)
        return true;
    ++counts_.failed_audits;
    trusts_touched_ = false;
    return false;
}

const WorkerCounts &Worker::counts()
{
    counts_.pm = {};
    for (const Seat *seat : {&warm_, &fresh_}) {
        counts_.pm.pages_compared += seat->files->counts().pages_compared;
        counts_.pm.pages_written += seat->files->counts().pages_written;
        counts_.pm.full_compares += seat->files->counts().full_compares;
    }
    return counts_;
}

} // namespace fencepost::guest
