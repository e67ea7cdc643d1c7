// SPDX-License-Identifier: GPL-2.0-or-later
// The oracle `program`: the recovery command of the spec, in the guest, as pmreorder has it: exit
// status 0 is consistent, every other is not.
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/child_process.h"
#include "replayer/oracle/judge_settings.h"
#include "replayer/oracle/log_watch.h"
#include "replayer/oracle/oracle_table.h"
#include "replayer/oracle/progress.h"

namespace fencepost::oracle {

using agent::JudgeStep;
using agent::RunEnd;
using nlohmann::json;

namespace {

constexpr std::size_t kWordsLimit = 200;

class ProgramOracle : public Oracle {
public:
    ProgramOracle(const std::string &name, const JudgeSettings &settings)
        : Oracle(name, JudgeStep::command), inputs_(settings.inputs)
    {
        if (wants_progress(inputs_))
            progress_.emplace(trace::TraceReader(settings.run.trace()));
    }

    // What the command may need: the files that the workload had.
    std::span<const agent::JobFile> files() const override { return inputs_.workload.files; }

    void ask(agent::JudgeRequest &request) const override
    {
        request.command = run::workload_of(inputs_).command;
        request.command.argv = inputs_.test.recovery;
        request.command.directory = inputs_.mount ? inputs_.mount->request.target : "/";
    }

    void ask_about(const Question &question, agent::JudgeRequest &request) const override
    {
        if (request.command.argv.empty())
            return;
        request.command.time_limit_ms = static_cast<std::uint32_t>(question.time_limit.count());
        for (std::string &each : recovery_environment(
                 progress_ ? &progress_->at(question.crash_seq) : nullptr, question.crashed))
            request.command.environment.push_back(std::move(each));
    }

    void judge(const Hearing &hearing, Judgement &judgement) const override
    {
        if (hearing.request.command.argv.empty())
            return;
        const agent::RunReply &run = hearing.reply.command;
        judgement.guest_spent = judgement.guest_spent || run.survivors != 0;
        Evidence evidence = {name(), Verdict::pass, "",
                             Details(json{{"output", run.output}, {"errors", run.errors}})};
        judge_end(hearing, evidence);
        if (evidence.verdict != Verdict::pass)
            add_evidence(judgement, std::move(evidence));
    }

    UserOracle user_oracle() const override
    {
        return progress_ ? UserOracle::progress : UserOracle::plain;
    }

    std::optional<std::uint64_t> expectation(std::uint64_t crash_seq) const override
    {
        if (!progress_)
            return std::nullopt;
        return progress_->number_at(crash_seq);
    }

private:
    static void judge_end(const Hearing &hearing, Evidence &evidence)
    {
        const agent::RunReply &run = hearing.reply.command;
        if (const auto *failed = hearing.failed(JudgeStep::command)) {
            evidence.verdict = Verdict::infra_error;
            evidence.summary = failed->message;
        } else if (run.end == RunEnd::timed_out && hearing.starved) {
            evidence.verdict = Verdict::infra_error;
            evidence.summary = "the host was too busy to give the recovery command its time";
            evidence.details["starved"] = true;
        } else if (run.end == RunEnd::timed_out) {
            evidence.verdict = Verdict::guest_hang;
            say("the recovery command did not end in its time", run, evidence);
        } else if (run.end == RunEnd::signalled) {
            evidence.verdict = Verdict::recovery_failed;
            say(fmt::format("the recovery command was killed by signal {}", run.code), run,
                evidence);
        } else if (run.code != 0) {
            judge_status(run, evidence);
        }
    }

    static void judge_status(const agent::RunReply &run, Evidence &evidence)
    {
        evidence.verdict = Verdict::inconsistent;
        say(fmt::format("the recovery command ended with status {}", run.code), run, evidence);
        evidence.details["status"] = run.code;
    }

    // What is wrong, and the command's last words.
    static void say(std::string what, const agent::RunReply &run, Evidence &evidence)
    {
        const std::string words =
            last_line(run.errors.empty() ? run.output : run.errors).substr(0, kWordsLimit);
        if (!words.empty())
            what += ": ";
        evidence.summary = what + without_numbers(words);
        evidence.title = what + words;
    }

    run::Inputs inputs_;
    std::optional<ProgressTable> progress_; // nothing: the command does not ask
};

} // namespace

std::unique_ptr<Oracle> make_program_oracle(const std::string &name, const JudgeSettings &settings)
{
    return std::make_unique<ProgramOracle>(name, settings);
}

} // namespace fencepost::oracle
