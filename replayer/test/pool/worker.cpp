// SPDX-License-Identifier: GPL-2.0-or-later
// See worker.h.
#include "replayer/test/pool/worker.h"

#include <algorithm>
#include <utility>

#include <spdlog/spdlog.h>

#include "base/error.h"
#include "base/files.h"
#include "replayer/oracle/lost_guest.h"

namespace fencepost::test {

namespace fs = std::filesystem;
using oracle::Judgement;
using oracle::Verdict;

namespace {

constexpr std::chrono::minutes kRestoreTime(2);
constexpr int kRestoreTries = 3;
// For the tests that explain one failure.
constexpr double kMostProbeSeconds = 30;

// The host gave the guest too little of a time that was short anyway.
bool was_starved(const Judgement &judgement)
{
    return judgement.verdict == Verdict::infra_error &&
           deciding_evidence(judgement).details.contains("starved");
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

} // namespace

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

Worker::Attempt Worker::attempt(Seat &seat, const Assignment &assignment, Outcome &outcome,
                                Limit limit)
{
    const Stopwatch patching;
    seat.files->sync(held_);
    outcome.patch_seconds += patching.seconds();
    const auto kind = seat.guest ? HangWatch::GuestKind::warm : HangWatch::GuestKind::restored;
    sit(seat, outcome);
    Attempt made;
    if (limit == Limit::brief)
        made.patience = plan_.hangs->patience(kind);
    const Stopwatch judging;
    const auto waited = seat.guest->waited_for_cpu();
    try {
        made.said = plan_.judge.judge({*seat.guest, seat.files->paths(), assignment.crash_seq,
                                       made.patience, assignment.crashed});
        // A host that is busy does not make an image slow.
        const auto time =
            std::chrono::milliseconds(static_cast<std::int64_t>(made.said.guest_seconds * 1000)) -
            (seat.guest->waited_for_cpu() - waited);
        if (made.said.verdict <= Verdict::recovery_failed)
            plan_.hangs->note_healthy(kind, std::max(time, std::chrono::milliseconds(0)));
    } catch (const Error &error) {
        if (error.kind() != ErrorKind::guest) {
            leave(seat); // what it wrote is not undone, and not to be taken for somebody else's
            throw;
        }
        made.lost = true;
        made.said = oracle::judge_lost(*seat.guest, error);
    }
    outcome.judge_seconds += judging.seconds();
    const Stopwatch undoing;
    if (made.lost) {
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
    return made;
}

// A guest that crashed, hung or complained is not one to go on with, though it still answers: what
// a failed mount left in it, or a message that it prints once, would change the next verdict.
Worker::Attempt Worker::attempt_warm(const Assignment &assignment, Outcome &outcome, Limit limit)
{
    Attempt made = attempt(warm_, assignment, outcome, limit);
    if (!made.lost && (made.said.guest_spent || made.said.verdict > Verdict::recovery_failed)) {
        ++counts_.discarded_guests;
        leave(warm_);
    }
    return made;
}

// The guest was given little time, because healthy images take less.
Judgement Worker::settle_hang(const Assignment &assignment, Outcome &outcome, Attempt first)
{
    const std::string words = words_of_hang(first.said);
    if (auto known = plan_.hangs->known(words)) {
        outcome.known_hang = true;
        first.said.verdict = known->verdict;
        first.said.evidence = {std::move(*known)};
        return std::move(first.said);
    }
    Attempt second = attempt_warm(assignment, outcome, Limit::full);
    const bool was_slow =
        std::chrono::duration<double>(second.said.guest_seconds) > *first.patience;
    // Kernels tell a lockup late: then that is what the hang was.
    if (second.said.verdict == Verdict::guest_hang ||
        (second.said.verdict == Verdict::guest_crash && was_slow)) {
        outcome.confirmed = true;
        Judgement &counts = second.said.verdict == Verdict::guest_hang ? first.said : second.said;
        plan_.hangs->note_confirmed(words, deciding_evidence(counts));
        plan_.hangs->note_confirmed(words_of_hang(second.said), deciding_evidence(counts));
        return std::move(counts);
    }
    if (was_slow || second.said.verdict == Verdict::infra_error)
        return std::move(second.said);
    outcome.confirmed = true;
    outcome.disagreed = true;
    first.said.evidence.push_back(disagreement("the second attempt", first.said, second.said));
    return std::move(first.said);
}

Judgement Worker::judge_warm(const Assignment &assignment, Outcome &outcome)
{
    Attempt first = attempt_warm(assignment, outcome, Limit::brief);
    if (first.said.verdict == Verdict::guest_hang && first.patience)
        return settle_hang(assignment, outcome, std::move(first));
    if (!first.lost && !(first.patience && was_starved(first.said)))
        return std::move(first.said);
    // Restored: as fresh as can be.
    Judgement second = attempt_warm(assignment, outcome, Limit::full).said;
    // A killed QEMU says nothing about the image: what counts is what the second guest says, as if
    // it were the first. A crash that does not come again says that something of another image was
    // left in the guest, or that recovery fails by chance.
    if (first.said.verdict == Verdict::infra_error)
        return second;
    outcome.confirmed = true;
    if (first.said.verdict != second.verdict) {
        outcome.disagreed = true;
        first.said.evidence.push_back(disagreement("the second attempt", first.said, second));
        return std::move(first.said);
    }
    outcome.repeats = same_failure(deciding_evidence(first.said), deciding_evidence(second));
    return second;
}

Judgement Worker::judge_fresh(const Assignment &assignment, Outcome &outcome)
{
    leave(fresh_);
    Attempt made = attempt(fresh_, assignment, outcome, Limit::full);
    leave(fresh_);
    if (made.lost && made.said.verdict == Verdict::infra_error) {
        made = attempt(fresh_, assignment, outcome, Limit::full);
        leave(fresh_);
    }
    return std::move(made.said);
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
    const Judgement said = plan_.always_fresh ? judge_fresh(assignment, cost)
                                              : attempt_warm(assignment, cost, Limit::brief).said;
    if (said.verdict == Verdict::infra_error ||
        (said.verdict == Verdict::guest_hang && failure.verdict != Verdict::guest_hang))
        return std::nullopt;
    return is_failure(said.verdict) && same_failure(deciding_evidence(said), failure);
}

void Worker::explain(const Assignment &assignment, Outcome &outcome)
{
    Explanation &explanation = outcome.explanation;
    explanation.missing = first_of_each_site(assignment.stores, false);
    explanation.present = first_of_each_site(assignment.stores, true);
    const oracle::Evidence &failure = deciding_evidence(outcome.judgement);
    // Where nobody knows what healthy images take, a guest hangs for its whole time limit: too long
    // to be done again and again.
    const bool hangs_long = failure.verdict == Verdict::guest_hang &&
                            !plan_.hangs->patience(HangWatch::GuestKind::restored);
    if (hangs_long || !outcome.repeats)
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
    if (doubtful && !outcome.confirmed && !outcome.known_hang) {
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

} // namespace fencepost::test
