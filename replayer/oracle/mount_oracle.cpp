// SPDX-License-Identifier: GPL-2.0-or-later
// The oracle `mount`: the guest mounts and unmounts the image, and its kernel log is quiet. Part of
// every judgement: without a file system there is still the log.
#include <nlohmann/json.hpp>

#include "replayer/oracle/judge_settings.h"
#include "replayer/oracle/log_context.h"
#include "replayer/oracle/log_watch.h"
#include "replayer/oracle/oracle_table.h"

namespace fencepost::oracle {

using agent::JudgeStep;
using nlohmann::json;

namespace {

class MountOracle : public Oracle {
public:
    MountOracle(const std::string &name, const std::optional<run::Mount> &mount)
        : Oracle(name, JudgeStep::mount), mount_(mount)
    {
    }

    void ask(agent::JudgeRequest &request) const override
    {
        if (mount_)
            request.mount = mount_->request;
    }

    void judge(const Hearing &hearing, Judgement &judgement) const override
    {
        judge_step(hearing, JudgeStep::mount, Verdict::recovery_failed, judgement);
        judge_step(hearing, JudgeStep::unmount, Verdict::inconsistent, judgement);
        judge_log(hearing.question, judgement);
        // A log with a gap that looks quiet is no log.
        if (!hearing.closing && !hearing.reply.log_failure.empty())
            add_evidence(judgement, {name(),
                                     Verdict::infra_error,
                                     "the kernel log is not whole: " + hearing.reply.log_failure,
                                     {}});
    }

private:
    void judge_step(const Hearing &hearing, JudgeStep step, Verdict verdict,
                    Judgement &judgement) const
    {
        if (const agent::StepResult *failed = hearing.failed(step))
            add_evidence(judgement, {name(), verdict, failed->message,
                                     Details(json{{"error_number", failed->error_number}})});
    }

    // Of a healthy image each line that must not be, of others the gravest that those do not have.
    void judge_log(const Question &question, Judgement &judgement) const
    {
        if (question.crashed) {
            for (const LogAlarm &alarm : find_alarms(judgement.kernel_log))
                judgement.masked += is_masked(alarm.summary);
            if (const auto alarm = find_alarm(judgement.kernel_log, masked()))
                add(*alarm, judgement);
            return;
        }
        MaskedLines told;
        for (const LogAlarm &alarm : find_alarms(judgement.kernel_log))
            if (told.insert(alarm.summary).second)
                add(alarm, judgement);
    }

    void add(const LogAlarm &alarm, Judgement &judgement) const
    {
        // What a kernel printed once it may not print again.
        judgement.guest_spent = true;
        add_evidence(
            judgement,
            {name(), Verdict::inconsistent, alarm.summary,
             Details(json{{"line", alarm.line},
                          {"neighbours", neighbours_of(judgement.kernel_log, alarm.line)}}),
             alarm.line});
    }

    std::optional<run::Mount> mount_; // nothing: the run has no file system
};

} // namespace

std::unique_ptr<Oracle> make_mount_oracle(const std::string &name, const JudgeSettings &settings)
{
    return std::make_unique<MountOracle>(name, settings.inputs.mount);
}

} // namespace fencepost::oracle
