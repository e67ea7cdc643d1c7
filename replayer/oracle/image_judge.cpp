// SPDX-License-Identifier: GPL-2.0-or-later
// See image_judge.h.
#include "replayer/oracle/image_judge.h"

#include <algorithm>
#include <optional>

#include "base/deadline.h"
#include "replayer/guest/judged/judged_guest.h"
#include "replayer/guest/judged/log_patterns.h"
#include "replayer/oracle/guest_visit.h"
#include "replayer/oracle/lost_guest.h"
#include "replayer/oracle/oracle_choice.h"

namespace fencepost::oracle {

using agent::JudgeReply;
using agent::JudgeRequest;
using agent::JudgeStep;

namespace {

constexpr std::chrono::milliseconds kClearingTime(10000); // for processes of a command to be killed
constexpr std::chrono::milliseconds kBriefClearingTime(500); // where a hang is tried again anyway

// Adds the time until its end to a sum, also where that is an exception.
class TimeSpent {
public:
    explicit TimeSpent(double &seconds) : seconds_(seconds) {}
    ~TimeSpent() { seconds_ += watch_.seconds(); }

    TimeSpent(const TimeSpent &) = delete;
    TimeSpent &operator=(const TimeSpent &) = delete;

private:
    const Stopwatch watch_;
    double &seconds_;
};

class ImageJudge : public Judge {
public:
    explicit ImageJudge(const JudgeSettings &settings);

    void prepare(guest::JudgedGuest &guest) override;
    GuestWork work_about(std::uint64_t crash_seq) const override;
    std::uint64_t expectation(std::uint64_t crash_seq) const override;
    std::optional<run::ChosenPromise> promise() const override;
    UserOracle user_oracle() const override;
    bool has_baseline() const override { return true; }
    void mask(const std::vector<Evidence> &objections) override;
    void expect_space(const std::vector<agent::SpaceUse> &healthy) override;

private:
    // What is asked about one image in one go, and what came back.
    struct Round {
        JudgeRequest request;
        JudgeReply reply = {};
        bool starved = false;
    };

    void examine(const Subject &subject, Judgement &judgement) override;
    bool ask_host(Phase phase, const Subject &subject, Judgement &judgement) const;
    bool ask_guest(Round &round, const Subject &subject, Judgement &judgement) const;
    bool ask_recovered(const Subject &subject, Judgement &judgement) const;
    bool visit(const Subject &subject, Judgement &judgement) const;
    static void keep_tree(Round &round, Judgement &judgement);
    bool hear(const Round &round, bool closing, const Subject &subject, Judgement &judgement) const;
    Question question_of(const Subject &subject) const;
    std::chrono::milliseconds answer_time(const Subject &subject) const;

    run::Inputs inputs_;
    std::vector<std::unique_ptr<Oracle>> oracles_;
    JudgeRequest request_;
    JudgeRequest closing_; // after a look of those that look last
    bool looks_last_ = false;
    bool visited_ = false; // by oracles that talk with the guest themselves
};

ImageJudge::ImageJudge(const JudgeSettings &settings)
    : inputs_(settings.inputs), oracles_(choose_oracles(settings))
{
    for (const auto &oracle : oracles_)
        oracle->ask(request_);
    looks_last_ = std::any_of(oracles_.begin(), oracles_.end(),
                              [](const auto &oracle) { return oracle->looks_last(); });
    visited_ = std::any_of(oracles_.begin(), oracles_.end(),
                           [](const auto &oracle) { return oracle->visits(); });
    closing_.mount = request_.mount;
    closing_.remove = true;
}

void ImageJudge::prepare(guest::JudgedGuest &guest)
{
    const std::chrono::seconds limit(inputs_.test.time_limit);
    for (const auto &oracle : oracles_)
        for (const agent::JobFile &file : oracle->files())
            guest.take_file(file, Deadline::after(limit));
}

GuestWork ImageJudge::work_about(std::uint64_t crash_seq) const
{
    GuestWork work;
    work.requests.push_back(request_);
    if (request_.remove && looks_last_) {
        work.requests.front().remove = false;
        work.requests.push_back(closing_);
    }
    const Question question = {crash_seq, true, std::chrono::seconds(inputs_.test.time_limit)};
    for (const auto &oracle : oracles_) {
        const auto files = oracle->files();
        work.files.insert(work.files.end(), files.begin(), files.end());
        for (JudgeRequest &request : work.requests)
            oracle->ask_about(question, request);
    }
    return work;
}

std::uint64_t ImageJudge::expectation(std::uint64_t crash_seq) const
{
    std::uint64_t result = 0;
    for (const auto &oracle : oracles_)
        if (const auto number = oracle->expectation(crash_seq))
            result = result * 0x9e3779b97f4a7c15u + *number + 1;
    return result;
}

std::optional<run::ChosenPromise> ImageJudge::promise() const
{
    for (const auto &oracle : oracles_)
        if (const run::ChosenPromise *promise = oracle->promise(); promise && oracle->is_trusted())
            return *promise;
    return std::nullopt;
}

UserOracle ImageJudge::user_oracle() const
{
    UserOracle users = UserOracle::none;
    for (const auto &oracle : oracles_)
        users = std::max(users, oracle->user_oracle());
    return users;
}

void ImageJudge::mask(const std::vector<Evidence> &objections)
{
    for (const auto &oracle : oracles_)
        oracle->mask(objections);
}

void ImageJudge::expect_space(const std::vector<agent::SpaceUse> &healthy)
{
    for (const auto &oracle : oracles_)
        oracle->expect_space(healthy);
}

Question ImageJudge::question_of(const Subject &subject) const
{
    const std::chrono::milliseconds limit = std::chrono::seconds(inputs_.test.time_limit);
    return {subject.crash_seq, subject.crashed,
            subject.patience ? std::min(*subject.patience, limit) : limit};
}

// The command's own limit is to end it first: that leaves its words and the guest.
std::chrono::milliseconds ImageJudge::answer_time(const Subject &subject) const
{
    const std::chrono::milliseconds limit = question_of(subject).time_limit;
    if (request_.command.argv.empty())
        return limit;
    return 2 * limit + (subject.patience ? kBriefClearingTime : kClearingTime);
}

void ImageJudge::examine(const Subject &subject, Judgement &judgement)
{
    const bool looked = ask_host(Phase::before, subject, judgement);
    if (visited_ && !ask_recovered(subject, judgement))
        return;
    Round round{request_};
    if (visited_) { // it has been mounted and looked at
        round.request.dump = false;
        round.request.command = {};
        if (!round.request.usable && !round.request.remove) {
            ask_host(Phase::after, subject, judgement);
            return;
        }
    }
    const bool closes = request_.remove && (looks_last_ || !looked);
    round.request.remove = request_.remove && !closes;
    if (!ask_guest(round, subject, judgement))
        return;
    const bool mounted = hear(round, false, subject, judgement);
    keep_tree(round, judgement);
    if (!mounted)
        return;
    if (!round.reply.still_mounted)
        ask_host(Phase::after, subject, judgement);
    if (!closes || (judgement.verdict != Verdict::pass && subject.crashed))
        return;
    Round closing{closing_};
    if (ask_guest(closing, subject, judgement))
        hear(closing, true, subject, judgement);
}

void ImageJudge::keep_tree(Round &round, Judgement &judgement)
{
    if (!round.request.dump)
        return;
    judgement.tree = std::move(round.reply.tree);
    judgement.tree->blocks.clear();
}

// What there is before anybody tries the file system out, and then what visitors say. False: the
// image's test ends here.
bool ImageJudge::ask_recovered(const Subject &subject, Judgement &judgement) const
{
    Round recovery{request_};
    recovery.request.usable = false;
    recovery.request.remove = false;
    if (!ask_guest(recovery, subject, judgement))
        return false;
    const bool mounted = hear(recovery, false, subject, judgement);
    keep_tree(recovery, judgement);
    if (!mounted || recovery.reply.still_mounted || !visit(subject, judgement))
        return false;
    Round rest{JudgeRequest()}; // nothing but what the kernel has logged since
    if (!ask_guest(rest, subject, judgement))
        return false;
    judgement.kernel_log += rest.reply.kernel_log;
    const Question question = question_of(subject);
    const Hearing hearing = {question, rest.request, rest.reply};
    for (const auto &oracle : oracles_)
        if (oracle->step() == JudgeStep::mount && judgement.verdict == Verdict::pass)
            oracle->judge(hearing, judgement);
    return judgement.verdict == Verdict::pass || !subject.crashed;
}

// False: the guest cannot go on with the image.
bool ImageJudge::visit(const Subject &subject, Judgement &judgement) const
{
    const Question question = question_of(subject);
    const std::string root = request_.mount.target;
    GuestVisit guest(subject.guest, question, root);
    const auto failed = [&](const auto &outcome, Verdict verdict) {
        const auto *failure = std::get_if<agent::Failure>(&outcome);
        if (failure)
            add_evidence(judgement, {"mount", verdict, "again: " + failure->message, {}});
        judgement.guest_spent = judgement.guest_spent || failure;
        return failure != nullptr;
    };
    if (!root.empty() && failed(guest.mount(request_.mount), Verdict::recovery_failed))
        return false;
    const Stopwatch watch;
    const double asked = guest.seconds();
    for (const auto &oracle : oracles_)
        if (oracle->visits() && oracle->is_trusted() && !guest.gone())
            oracle->visit(guest, judgement);
    judgement.oracle_seconds += watch.seconds() - (guest.seconds() - asked);
    judgement.guest_spent = judgement.guest_spent || guest.spent();
    const bool unmounted =
        !guest.gone() && (root.empty() || !failed(guest.unmount(), Verdict::inconsistent));
    judgement.guest_seconds += guest.seconds();
    return unmounted;
}

// Whether those that had to look at the image could.
bool ImageJudge::ask_host(Phase phase, const Subject &subject, Judgement &judgement) const
{
    if (!inputs_.mount)
        return true;
    const run::Mount &mount = *inputs_.mount;
    const PmPart part = {subject.pm_files[mount.pm_device], mount.offset, mount.size};
    const TimeSpent spent(judgement.oracle_seconds);
    bool looked = true;
    for (const auto &oracle : oracles_)
        looked = oracle->look(phase, part, question_of(subject), judgement) && looked;
    return looked;
}

// False: it answered, but its kernel had crashed, and `judgement` says so.
bool ImageJudge::ask_guest(Round &round, const Subject &subject, Judgement &judgement) const
{
    guest::JudgedGuest &guest = subject.guest;
    const Question question = question_of(subject);
    for (const auto &oracle : oracles_)
        oracle->ask_about(question, round.request);
    // What a restored guest says when it wakes up is not about the image.
    if (guest.judged_records() == 0)
        guest.set_judged_records(guest::last_sequence(guest.kernel_log()));
    // The guest's clock goes on while the guest waits for a CPU, and with it a command's limit.
    const bool commands = !round.request.command.argv.empty();
    const auto waited = commands ? guest.waited_for_cpu() : std::chrono::milliseconds(0);
    {
        const TimeSpent spent(judgement.guest_seconds);
        round.reply = guest.judge(round.request, Deadline::after(answer_time(subject)));
    }
    round.starved = commands && 2 * (guest.waited_for_cpu() - waited) > question.time_limit;
    const std::string &log = round.reply.kernel_log;
    if (auto crash = judge_crash(guest, log)) {
        end_with(std::move(*crash), judgement);
        return false;
    }
    guest.set_judged_records(std::max(guest.judged_records(), guest::last_sequence(log)));
    return true;
}

// Whether the file system could be mounted, or there is none.
bool ImageJudge::hear(const Round &round, bool closing, const Subject &subject,
                      Judgement &judgement) const
{
    const Question question = question_of(subject);
    const Hearing hearing = {question, round.request, round.reply, round.starved, closing};
    const bool mounted = !hearing.failed(JudgeStep::mount);
    judgement.kernel_log += round.reply.kernel_log;
    // A mount that failed may leave something behind that no unmount takes away.
    judgement.guest_spent = judgement.guest_spent || round.reply.still_mounted || !mounted ||
                            guest::left_records_out(round.reply.kernel_log);
    for (const auto &oracle : oracles_)
        if (oracle->is_trusted() && (mounted || oracle->step() == JudgeStep::mount))
            oracle->judge(hearing, judgement);
    return mounted;
}

} // namespace

std::unique_ptr<Judge> make_judge(const JudgeSettings &settings)
{
    return std::make_unique<ImageJudge>(settings);
}

} // namespace fencepost::oracle
