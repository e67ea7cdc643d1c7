// SPDX-License-Identifier: GPL-2.0-or-later
// See image_judge.h.
#include "replayer/oracle/image_judge.h"

#include <algorithm>

#include "base/deadline.h"
#include "replayer/oracle/log_watch.h"

namespace fencepost::oracle {

using agent::JudgeStep;
using guest::JudgeReply;
using guest::JudgeRequest;

namespace {

const agent::StepResult *failed_step(const JudgeReply &reply, JudgeStep step)
{
    for (const agent::StepResult &result : reply.steps)
        if (result.step == step && result.error_number != 0)
            return &result;
    return nullptr;
}

void add(Judgement &judgement, Evidence evidence)
{
    judgement.verdict = std::max(judgement.verdict, evidence.verdict);
    judgement.evidence.push_back(std::move(evidence));
}

class ImageJudge : public Judge {
public:
    explicit ImageJudge(const JudgeSettings &settings)
    {
        for (const agent::JobStep &step : settings.inputs.workload.steps)
            if (step.kind == agent::StepKind::mount) {
                request_.mount = step.mount;
                break;
            }
    }

    Judgement judge(const Subject &subject) override
    {
        Judgement judgement;
        const Stopwatch watch;
        const JudgeReply reply = ask_guest(subject, judgement);
        judgement.guest_seconds = watch.seconds();
        if (judgement.guest_spent)
            return judgement;
        judgement.kernel_log = reply.kernel_log;
        judgement.guest_spent = reply.still_mounted;
        judge_mount(reply, judgement);
        judge_log(judgement);
        return judgement;
    }

private:
    JudgeReply ask_guest(const Subject &subject, Judgement &judgement);
    void judge_mount(const JudgeReply &reply, Judgement &judgement) const;
    void judge_log(Judgement &judgement) const;

    JudgeRequest request_;
    std::chrono::seconds time_limit_{30};
};

// The server's death is the image's doing: an oops kills the process whose system call it is in.
JudgeReply ImageJudge::ask_guest(const Subject &subject, Judgement &judgement)
{
    try {
        return *subject.guest.with_agent([&](guest::AgentClient &agent) {
            return agent.judge(request_, Deadline::after(time_limit_));
        });
    } catch (const guest::AgentLost &lost) {
        if (lost.loss() != guest::ChannelLoss::server_lost)
            throw;
        judgement.guest_spent = true;
        JudgeRequest log;
        log.whole_log = true;
        judgement.kernel_log = subject.guest
                                   .with_agent([&](guest::AgentClient &agent) {
                                       return agent.judge(log, Deadline::after(time_limit_));
                                   })
                                   ->kernel_log;
        judge_log(judgement);
        if (judgement.verdict != Verdict::guest_crash)
            add(judgement, {"mount", Verdict::guest_crash, "the guest agent's server died", lost.what()});
        return {};
    }
}

void ImageJudge::judge_mount(const JudgeReply &reply, Judgement &judgement) const
{
    if (const auto *mount = failed_step(reply, JudgeStep::mount))
        add(judgement, {"mount", Verdict::recovery_failed, mount->message,
                        {{"step", "mount"}, {"error_number", mount->error_number}}});
    if (const auto *unmount = failed_step(reply, JudgeStep::unmount))
        add(judgement, {"mount", Verdict::inconsistent, unmount->message,
                        {{"step", "unmount"}, {"error_number", unmount->error_number}}});
}

void ImageJudge::judge_log(Judgement &judgement) const
{
    const auto alarm = find_alarm(judgement.kernel_log);
    if (!alarm)
        return;
    const Verdict verdict = alarm->alarm == Alarm::crash ? Verdict::guest_crash : Verdict::inconsistent;
    // A kernel that warned once may not warn again, and one that oopsed keeps its locks.
    judgement.guest_spent = judgement.guest_spent || alarm->alarm != Alarm::file_system_error;
    add(judgement, {"mount", verdict, alarm->summary, {{"line", alarm->line}}});
}

} // namespace

std::unique_ptr<Judge> make_judge(const JudgeSettings &settings)
{
    return std::make_unique<ImageJudge>(settings);
}

} // namespace fencepost::oracle
