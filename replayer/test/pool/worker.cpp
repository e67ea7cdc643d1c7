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
    return {"harness", Verdict::infra_error, fmt::format("the warm guest and {} disagree", what),
            oracle::Details::of_texts(
                {{"warm", to_string(warm.verdict)}, {"other", to_string(other.verdict)}})};
}

} // namespace

Worker::Worker(const WorkerPlan &plan, unsigned number,
               std::shared_ptr<const image::ImageStep> first)
    : plan_(plan), directory_(plan.directory / fmt::format("worker{}", number)),
      held_(plan.initial, std::move(first))
{
    // Both from the beginning, so that no change of the image is missed.
    for (Slot *slot : {&warm_, &fresh_}) {
        const fs::path directory = directory_ / (slot == &warm_ ? "warm" : "fresh");
        make_directories(directory);
        slot->files = std::make_unique<PmFiles>(directory, plan_.initial, plan_.source.config);
    }
}

Worker::~Worker() = default;

void Worker::ensure_guest(Slot &slot, Outcome &outcome)
{
    const Stopwatch watch;
    for (int tries = 1; !slot.guest; ++tries) {
        try {
            ++counts_.restores;
            slot.guest = plan_.templates.restore(plan_.source, slot.files->paths(),
                                                 Deadline::after(kRestoreTime));
            slot.files->watch(slot.guest->machine());
            plan_.judge.prepare(*slot.guest);
        } catch (const Error &error) {
            slot.guest.reset();
            if (error.kind() != ErrorKind::guest || tries == kRestoreTries)
                throw;
            spdlog::debug("a worker's guest could not be restored: {}", error.what());
        }
    }
    outcome.restore_seconds += watch.seconds();
}

void Worker::drop_guest(Slot &slot)
{
    if (!slot.guest)
        return;
    slot.guest.reset();
    slot.files->suspect_everything();
}

Worker::Attempt Worker::attempt(Slot &slot, const Assignment &assignment, Outcome &outcome,
                                Limit limit)
{
    const Stopwatch patching;
    slot.files->sync(held_);
    outcome.patch_seconds += patching.seconds();
    const auto kind = slot.guest ? HangWatch::GuestKind::warm : HangWatch::GuestKind::restored;
    ensure_guest(slot, outcome);
    Attempt made;
    if (limit == Limit::brief)
        made.patience = plan_.hangs->patience(kind);
    const Stopwatch judging;
    const auto waited = slot.guest->waited_for_cpu();
    try {
        made.said = plan_.judge.judge({*slot.guest, slot.files->paths(), assignment.state.seq,
                                       made.patience, assignment.crashed, assignment.keep_tree});
    } catch (const Error &) {
        drop_guest(slot); // what it wrote is not undone, and not to be taken for somebody else's
        throw;
    }
    made.lost = made.said.guest_lost;
    if (!made.lost && made.said.verdict <= Verdict::recovery_failed) {
        // A host that is busy does not make an image slow.
        const auto time =
            std::chrono::milliseconds(static_cast<std::int64_t>(made.said.guest_seconds * 1000)) -
            (slot.guest->waited_for_cpu() - waited);
        plan_.hangs->note_healthy(kind, std::max(time, std::chrono::milliseconds(0)));
    }
    outcome.judge_seconds += judging.seconds();
    const Stopwatch undoing;
    if (made.lost) {
        ++outcome.lost_guests;
        ++counts_.lost_guests;
        drop_guest(slot);
    } else if (!trusts_touched_) {
        slot.files->suspect_everything();
    } else if (!slot.files->suspect_touched()) {
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
        drop_guest(warm_);
    }
    return made;
}

// The guest was given little time, because healthy images take less. Where it still answers, only a
// command was too slow, which may have more than one reason: that takes the whole limit each time.
Judgement Worker::settle_hang(const Assignment &assignment, Outcome &outcome, Attempt first)
{
    const std::string words = words_of_hang(first.said);
    if (auto known = plan_.hangs->known(words); known && first.lost) {
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
    drop_guest(fresh_);
    Attempt made = attempt(fresh_, assignment, outcome, Limit::full);
    drop_guest(fresh_);
    if (made.lost && made.said.verdict == Verdict::infra_error) {
        made = attempt(fresh_, assignment, outcome, Limit::full);
        drop_guest(fresh_);
    }
    return std::move(made.said);
}

void Worker::show(const image::CrashImage &image)
{
    held_.show(image, [&](std::uint64_t line) {
        for (Slot *slot : {&warm_, &fresh_})
            slot->files->suspect_line(line);
    });
}

Judgement Worker::judge_neighbour(const Assignment &assignment, const Neighbour &neighbour)
{
    image::CrashImage image;
    image.step = assignment.content.step;
    show(image);
    image.in_flight = assignment.stores.in_flight->lines(
        neighbour.parts, [&](std::uint64_t line) { return held_.line(line); });
    show(image);
    return look_at_shown(assignment);
}

Judgement Worker::look_at_shown(const Assignment &assignment)
{
    Outcome cost;
    return plan_.always_fresh ? judge_fresh(assignment, cost)
                              : attempt_warm(assignment, cost, Limit::brief).said;
}

Judgement Worker::look(const Assignment &assignment)
{
    show(assignment.content);
    return look_at_shown(assignment);
}

Answer Worker::explain(const Question &question, const std::function<bool()> &may_go_on)
{
    const oracle::Evidence &failure = question.failure;
    Answer answer = {.image = question.failed.image};
    const Stopwatch watch;
    const auto ask = [&](const Neighbour &neighbour) -> std::optional<Said> {
        answer.gave_up = !may_go_on() || question.deadline.passed();
        if (answer.gave_up || watch.seconds() > kMostProbeSeconds)
            return std::nullopt;
        Probe &probe = answer.probes.emplace_back(Probe{.state = question.failed.state});
        probe.state.choice = neighbour.choice;
        const Stopwatch testing;
        const Judgement said = judge_neighbour(question.failed, neighbour);
        probe.seconds = testing.seconds();
        probe.verdict = said.verdict;
        if (said.verdict == Verdict::infra_error ||
            (said.verdict == Verdict::guest_hang && failure.verdict != Verdict::guest_hang))
            return std::nullopt;
        probe.alike = is_failure(said.verdict) && same_failure(deciding_evidence(said), failure);
        if (said.verdict == Verdict::pass)
            return Said::passes;
        return probe.alike ? Said::fails_alike : Said::other;
    };
    try {
        answer.decided = find_deciding_stores(question.failed.stores, question.failed.state.choice,
                                              question.passes, ask);
    } catch (const Error &error) {
        // Trouble of the machine that stays is met by the next image or by the audit, and so is an
        // interrupt.
        if (error.kind() != ErrorKind::guest && error.kind() != ErrorKind::io &&
            error.kind() != ErrorKind::interrupted)
            throw;
        answer.gave_up = true;
        spdlog::debug("which stores decide was not found out: {}", error.what());
    }
    return answer;
}

Outcome Worker::test(const Assignment &assignment)
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
        drop_guest(warm_);
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
    for (const Slot *slot : {&warm_, &fresh_}) {
        counts_.pm.pages_compared += slot->files->counts().pages_compared;
        counts_.pm.pages_written += slot->files->counts().pages_written;
        counts_.pm.full_compares += slot->files->counts().full_compares;
    }
    return counts_;
}

} // namespace fencepost::test
