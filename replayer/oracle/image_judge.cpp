// SPDX-License-Identifier: GPL-2.0-or-later
// See image_judge.h.
#include "replayer/oracle/image_judge.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "base/deadline.h"
#include "replayer/guest/pm_file.h"
#include "replayer/guest/scratch.h"
#include "replayer/oracle/host_oracle.h"
#include "replayer/oracle/log_context.h"
#include "replayer/oracle/log_watch.h"
#include "replayer/oracle/lost_guest.h"
#include "replayer/oracle/masks.h"
#include "replayer/oracle/oracle_choice.h"
#include "replayer/oracle/progress.h"
#include "replayer/oracle/tree_evidence.h"
#include "replayer/oracle/usable_evidence.h"

namespace fencepost::oracle {

using agent::JudgeStep;
using guest::JudgeReply;
using guest::JudgeRequest;

namespace {

constexpr std::chrono::milliseconds kClearingTime(10000); // for processes of a command to be killed
constexpr std::chrono::milliseconds kBriefClearingTime(500); // where a hang is tried again anyway
constexpr std::uint32_t kSentBlocks = 1024; // with their bytes, of those that no legal tree has

const agent::StepResult *failed_step(const JudgeReply &reply, JudgeStep step)
{
    for (const agent::StepResult &result : reply.steps)
        if (result.step == step && result.error_number != 0)
            return &result;
    return nullptr;
}

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

    void prepare(guest::Guest &guest) override;
    std::uint64_t expectation(std::uint64_t crash_seq) const override;
    std::optional<run::ChosenPromise> promise() const override;
    bool one_tree_after_return() const override;
    bool has_baseline() const override { return true; }
    void mask(const std::vector<Evidence> &objections) override { masks_ = Masks(objections); }
    void expect_space(const std::vector<agent::SpaceUse> &healthy) override
    {
        healthy_space_ = space_range(healthy);
    }

private:
    void examine(const Subject &subject, Judgement &judgement) override;
    void ask_programs(Phase phase, const Subject &subject, Judgement &judgement) const;
    void tell_progress(const Subject &subject, JudgeRequest &request) const;
    std::optional<JudgeReply> ask_guest(const JudgeRequest &request, const Subject &subject,
                                        Judgement &judgement) const;
    void judge_mount(const JudgeReply &reply, Judgement &judgement) const;
    void judge_log(const Subject &subject, Judgement &judgement) const;
    // Unless a healthy image gets it too.
    void object(const Subject &subject, Evidence evidence, Judgement &judgement) const;
    // `waited`: for a CPU of the host, before the guest was asked.
    bool was_starved(const Subject &subject, std::chrono::milliseconds waited) const;
    void judge_command(const JudgeReply &reply, bool starved, Judgement &judgement) const;
    void judge_usable(const Subject &subject, const JudgeReply &reply, Judgement &judgement) const;
    agent::SpaceRange expected_space(const Subject &subject) const;
    bool removes_apart() const;
    void remove_everything(const Subject &subject, Judgement &judgement) const;
    void judge_trees(const Subject &subject, const JudgeReply &reply, Judgement &judgement) const;
    std::chrono::milliseconds time_limit() const
    {
        return std::chrono::seconds(settings_.inputs.test.time_limit);
    }
    std::chrono::milliseconds time_limit(const Subject &subject) const
    {
        return subject.patience ? std::min(*subject.patience, time_limit()) : time_limit();
    }
    // The command's own limit is to end it first: that leaves its words and the guest.
    std::chrono::milliseconds answer_time(const Subject &subject) const
    {
        const auto limit = time_limit(subject);
        return choice_.program ? 2 * limit + (subject.patience ? kBriefClearingTime : kClearingTime)
                               : limit;
    }

    JudgeSettings settings_;
    OracleChoice choice_;
    JudgeRequest request_;
    Masks masks_;
    agent::SpaceRange healthy_space_;
    std::optional<ProgressTable> progress_; // nothing: the recovery command does not ask
    guest::ScratchDirectory scratch_;
};

ImageJudge::ImageJudge(const JudgeSettings &settings)
    : settings_(settings), choice_(choose_oracles(settings)), scratch_(settings.cache)
{
    if (choice_.mount)
        request_.mount = choice_.mount->request;
    request_.dump = !choice_.trees.empty();
    request_.usable = choice_.usable;
    request_.limits.blocks = kSentBlocks;
    std::set<std::uint64_t> known;
    for (const TreeOracle &oracle : choice_.trees)
        for (const auto &[hash, bytes] : oracle.legal.history().blocks)
            known.insert(hash);
    for (const std::uint64_t hash : known)
        request_.known_blocks.append(reinterpret_cast<const char *>(&hash), sizeof hash);
    if (choice_.program) {
        request_.command = run::workload_of(settings.inputs).command;
        request_.command.argv = settings.inputs.test.recovery;
        request_.command.directory = choice_.mount ? choice_.mount->request.target : "/";
        if (wants_progress(settings.inputs))
            progress_.emplace(trace::TraceReader(settings.run.trace()));
    }
}

// What the recovery command may need: the files that the workload had.
void ImageJudge::prepare(guest::Guest &guest)
{
    if (!choice_.program)
        return;
    guest.with_agent([&](guest::AgentClient &agent) {
        for (const agent::JobFile &file : settings_.inputs.workload.files) {
            const auto reply = agent.write_whole_file(file.path, file.contents, file.mode,
                                                      Deadline::after(time_limit()));
            if (!reply)
                fail(ErrorKind::guest, "a guest cannot take {}: {}", file.path, reply.message());
        }
    });
}

std::uint64_t ImageJudge::expectation(std::uint64_t crash_seq) const
{
    std::uint64_t result = 0;
    for (const TreeOracle &oracle : choice_.trees) {
        const OperationSpan span = oracle.legal.span_at(crash_seq);
        // Where only syncs make durable, a return of anything else promises nothing.
        const std::size_t returned = oracle.promise.promise.durable == run::Durability::after_sync
                                         ? oracle.legal.last_sync(span.returned)
                                         : span.returned;
        result = result * 0x9e3779b97f4a7c15u + (std::uint64_t(returned) << 32 | span.begun) + 1;
    }
    if (progress_)
        result = result * 0x9e3779b97f4a7c15u + progress_->number_at(crash_seq) + 1;
    return result;
}

std::optional<run::ChosenPromise> ImageJudge::promise() const
{
    if (choice_.trees.empty())
        return std::nullopt;
    return choice_.trees.front().promise;
}

bool ImageJudge::one_tree_after_return() const
{
    return std::any_of(choice_.trees.begin(), choice_.trees.end(), [](const TreeOracle &oracle) {
        return oracle.promise.promise.durable == run::Durability::on_return;
    });
}

void ImageJudge::examine(const Subject &subject, Judgement &judgement)
{
    ask_programs(Phase::before, subject, judgement);
    const auto waited =
        choice_.program ? subject.guest.waited_for_cpu() : std::chrono::milliseconds(0);
    JudgeRequest request = request_;
    request.remove = choice_.usable && !removes_apart();
    request.expected = expected_space(subject);
    std::optional<JudgeReply> reply = ask_guest(request, subject, judgement);
    if (!reply)
        return;
    judge_mount(*reply, judgement);
    judge_log(subject, judgement);
    // A log with a gap that looks quiet is no log.
    if (!reply->log_failure.empty())
        add_evidence(judgement, {"mount",
                                 Verdict::infra_error,
                                 "the kernel log is not whole: " + reply->log_failure,
                                 {}});
    const bool mounted = !failed_step(*reply, JudgeStep::mount);
    if (mounted) {
        judge_trees(subject, *reply, judgement);
        if (choice_.program)
            judge_command(*reply, was_starved(subject, waited), judgement);
        judge_usable(subject, *reply, judgement);
    }
    if (request_.dump) {
        judgement.tree = std::move(reply->tree);
        judgement.tree->blocks.clear();
    }
    if (mounted && !reply->still_mounted)
        ask_programs(Phase::after, subject, judgement);
    if (mounted && choice_.usable && removes_apart() &&
        (judgement.verdict == Verdict::pass || !subject.crashed))
        remove_everything(subject, judgement);
}

void ImageJudge::ask_programs(Phase phase, const Subject &subject, Judgement &judgement) const
{
    if (!choice_.mount)
        return;
    const guest::PmConfig &device = settings_.inputs.config.pm.at(choice_.mount->pm_device);
    const std::uint64_t offset = guest::pm_data_offset(device);
    const PmPart part = {subject.pm_files[choice_.mount->pm_device], offset, device.size - offset};
    const Stopwatch watch;
    for (const OracleFolder &oracle : choice_.programs) {
        if (phase == Phase::before ? !oracle.before : !oracle.after)
            continue;
        if (auto evidence = ask_program(oracle, phase, part, scratch_.path()))
            object(subject, std::move(*evidence), judgement);
    }
    judgement.oracle_seconds += watch.seconds();
}

void ImageJudge::tell_progress(const Subject &subject, JudgeRequest &request) const
{
    if (!choice_.program)
        return;
    for (std::string &each : recovery_environment(
             progress_ ? &progress_->at(subject.crash_seq) : nullptr, subject.crashed))
        request.command.environment.push_back(std::move(each));
}

// Nothing: it answered, but its kernel had crashed, and `judgement` says so.
std::optional<JudgeReply> ImageJudge::ask_guest(const JudgeRequest &asked, const Subject &subject,
                                                Judgement &judgement) const
{
    // What a restored guest says when it wakes up is not about the image.
    if (subject.guest.judged_records() == 0)
        subject.guest.set_judged_records(guest::last_sequence(subject.guest.log().kernel_log()));
    JudgeRequest request = asked;
    request.command.time_limit_ms = static_cast<std::uint32_t>(time_limit(subject).count());
    tell_progress(subject, request);
    JudgeReply reply = [&] {
        const TimeSpent spent(judgement.guest_seconds);
        return *subject.guest.with_agent([&](guest::AgentClient &agent) {
            return agent.judge(request, Deadline::after(answer_time(subject)));
        });
    }();
    if (auto crash = judge_crash(subject.guest, reply.kernel_log)) {
        end_with(std::move(*crash), judgement);
        return std::nullopt;
    }
    subject.guest.set_judged_records(
        std::max(subject.guest.judged_records(), guest::last_sequence(reply.kernel_log)));
    judgement.kernel_log += reply.kernel_log;
    // A mount that failed may leave something behind that no unmount takes away.
    judgement.guest_spent = judgement.guest_spent || reply.still_mounted ||
                            failed_step(reply, JudgeStep::mount) ||
                            guest::left_records_out(reply.kernel_log);
    return reply;
}

void ImageJudge::judge_mount(const JudgeReply &reply, Judgement &judgement) const
{
    for (const JudgeStep step : {JudgeStep::mount, JudgeStep::unmount}) {
        const auto *failed = failed_step(reply, step);
        if (failed)
            add_evidence(judgement, {"mount",
                                     step == JudgeStep::mount ? Verdict::recovery_failed
                                                              : Verdict::inconsistent,
                                     failed->message,
                                     {{"error_number", failed->error_number}}});
    }
}

void ImageJudge::object(const Subject &subject, Evidence evidence, Judgement &judgement) const
{
    if (subject.crashed && masks_.covers(evidence))
        ++judgement.masked;
    else
        add_evidence(judgement, std::move(evidence));
}

void ImageJudge::judge_log(const Subject &subject, Judgement &judgement) const
{
    const auto add = [&](const LogAlarm &alarm) {
        // What a kernel printed once it may not print again.
        judgement.guest_spent = true;
        add_evidence(judgement, {"mount",
                                 Verdict::inconsistent,
                                 alarm.summary,
                                 {{"line", alarm.line},
                                  {"neighbours", neighbours_of(judgement.kernel_log, alarm.line)}},
                                 alarm.line});
    };
    MaskedLines told;
    for (const LogAlarm &alarm : find_alarms(judgement.kernel_log))
        if (subject.crashed)
            judgement.masked += masks_.lines().contains(alarm.summary);
        else if (told.insert(alarm.summary).second)
            add(alarm);
    if (!subject.crashed)
        return;
    if (const auto alarm = find_alarm(judgement.kernel_log, masks_.lines()))
        add(*alarm);
}

// The guest's clock goes on while the guest waits for a CPU, and with it a command's limit.
bool ImageJudge::was_starved(const Subject &subject, std::chrono::milliseconds waited) const
{
    return 2 * (subject.guest.waited_for_cpu() - waited) > time_limit(subject);
}

// As pmreorder has it: exit status 0 is consistent, every other is not.
void ImageJudge::judge_command(const JudgeReply &reply, bool starved, Judgement &judgement) const
{
    const guest::RunReply &run = reply.command;
    judgement.guest_spent = judgement.guest_spent || run.survivors != 0;
    Evidence evidence = {
        "program", Verdict::pass, "", {{"output", run.output}, {"errors", run.errors}}};
    if (const auto *failed = failed_step(reply, JudgeStep::command)) {
        evidence.verdict = Verdict::infra_error;
        evidence.summary = failed->message;
    } else if (run.end == guest::RunEnd::timed_out && starved) {
        evidence.verdict = Verdict::infra_error;
        evidence.summary = "the host was too busy to give the recovery command its time";
        evidence.details["starved"] = true;
    } else if (run.end == guest::RunEnd::timed_out) {
        evidence.verdict = Verdict::guest_hang;
        evidence.summary = "the recovery command did not end in its time";
    } else if (run.end == guest::RunEnd::signalled) {
        evidence.verdict = Verdict::recovery_failed;
        evidence.summary = fmt::format("the recovery command was killed by signal {}", run.code);
    } else if (run.code != 0) {
        evidence.verdict = Verdict::inconsistent;
        const std::string words =
            last_line(run.errors.empty() ? run.output : run.errors).substr(0, 200);
        const std::string said = fmt::format("the recovery command ended with status {}{}",
                                             run.code, words.empty() ? "" : ": ");
        evidence.summary = said + without_numbers(words);
        evidence.title = said + words;
        evidence.details["status"] = run.code;
    }
    if (evidence.verdict != Verdict::pass)
        add_evidence(judgement, std::move(evidence));
}

void ImageJudge::judge_usable(const Subject &subject, const JudgeReply &reply,
                              Judgement &judgement) const
{
    std::vector<agent::UsableProblem> problems;
    if (subject.crashed) {
        problems = reply.problems;
        judgement.masked += static_cast<unsigned>(std::erase_if(
            problems, [&](const agent::UsableProblem &each) { return masks_.covers(each); }));
    } else {
        std::set<std::string> told;
        for (const agent::UsableProblem &problem : reply.problems)
            if (Evidence evidence = evidence_of(problem); told.insert(evidence.summary).second)
                add_evidence(judgement, std::move(evidence));
    }
    for (Evidence &evidence : usable_evidence(reply, problems, healthy_space_))
        add_evidence(judgement, std::move(evidence));
    judgement.not_tried.insert(judgement.not_tried.end(), reply.not_tried.begin(),
                               reply.not_tried.end());
    if (!reply.removed)
        return;
    judgement.used_when_empty = reply.used_after;
    if (!healthy_space_.known && subject.crashed)
        judgement.not_tried.push_back("leaks: no image without a crash could be emptied");
}

// What cannot be compared needs no time to come to rest.
agent::SpaceRange ImageJudge::expected_space(const Subject &subject) const
{
    constexpr std::uint64_t kAny = std::numeric_limits<std::uint64_t>::max();
    if (!subject.crashed)
        return {};
    return healthy_space_.known ? healthy_space_ : agent::SpaceRange{true, {0, 0}, {kAny, kAny}};
}

// Where a program can look at the file system only after the guest did, it looks at all that was
// recovered: removing everything is then a mount of its own.
bool ImageJudge::removes_apart() const
{
    return std::any_of(choice_.programs.begin(), choice_.programs.end(),
                       [](const OracleFolder &oracle) { return oracle.after && !oracle.before; });
}

void ImageJudge::remove_everything(const Subject &subject, Judgement &judgement) const
{
    JudgeRequest request;
    request.mount = request_.mount;
    request.remove = true;
    request.expected = expected_space(subject);
    const std::optional<JudgeReply> reply = ask_guest(request, subject, judgement);
    if (!reply)
        return;
    judge_mount(*reply, judgement);
    judge_log(subject, judgement);
    judge_usable(subject, *reply, judgement);
}

void ImageJudge::judge_trees(const Subject &subject, const JudgeReply &reply,
                             Judgement &judgement) const
{
    for (const TreeOracle &oracle : choice_.trees) {
        const OperationSpan span = oracle.legal.span_at(subject.crash_seq);
        const TreeVerdict verdict =
            judge_tree(reply.tree, oracle.legal.history(), span, oracle.promise.promise);
        if (verdict.legal && !verdict.undecided)
            continue;
        object(subject,
               tree_evidence(oracle.name, verdict, reply.tree, oracle.legal, span, oracle.promise),
               judgement);
    }
}

} // namespace

std::unique_ptr<Judge> make_judge(const JudgeSettings &settings)
{
    return std::make_unique<ImageJudge>(settings);
}

} // namespace fencepost::oracle
