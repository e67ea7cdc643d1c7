// SPDX-License-Identifier: GPL-2.0-or-later
// The oracle `usable`: what was recovered can be worked with, and when everything was removed no
// more is in use than on a healthy image.
#include <algorithm>
#include <cstring>
#include <limits>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "replayer/oracle/judge_settings.h"
#include "replayer/oracle/oracle_table.h"

namespace fencepost::oracle {

using agent::JudgeStep;
using agent::SpaceRange;
using agent::SpaceUse;
using agent::UsableProblem;
using nlohmann::json;

namespace {

// From the least to the most that images without a crash use when they are empty.
SpaceRange space_range(const std::vector<SpaceUse> &healthy)
{
    SpaceRange range;
    for (const SpaceUse &use : healthy) {
        if (!range.known)
            range = {true, use, use};
        range.least.blocks = std::min(range.least.blocks, use.blocks);
        range.least.inodes = std::min(range.least.inodes, use.inodes);
        range.most.blocks = std::max(range.most.blocks, use.blocks);
        range.most.inodes = std::max(range.most.inodes, use.inodes);
    }
    return range;
}

json range_of(std::uint64_t least, std::uint64_t most)
{
    return least == most ? json(least) : json({least, most});
}

// Too little in use is as wrong as too much: something was freed twice.
std::string difference(const SpaceUse &use, const SpaceRange &healthy)
{
    if (use.blocks > healthy.most.blocks)
        return "leak: blocks stay in use when everything is removed";
    if (use.inodes > healthy.most.inodes)
        return "leak: inodes stay in use when everything is removed";
    if (use.blocks < healthy.least.blocks)
        return "more blocks are free when everything is removed than on a healthy image";
    if (use.inodes < healthy.least.inodes)
        return "more inodes are free when everything is removed than on a healthy image";
    return {};
}

std::string words_of(const UsableProblem &problem)
{
    return problem.error_number == 0 ? "what came back is not what went in"
                                     : std::strerror(problem.error_number);
}

json details_of(const UsableProblem &problem)
{
    return {{"path", problem.path},
            {"operation", problem.operation},
            {"error_number", problem.error_number}};
}

// Whatever name it was met with.
std::string nameless_summary(const UsableProblem &problem)
{
    return fmt::format("{}: {}", problem.operation, words_of(problem));
}

class UsableOracle : public Oracle {
public:
    explicit UsableOracle(const std::string &name) : Oracle(name, JudgeStep::usable) {}

    void ask(agent::JudgeRequest &request) const override
    {
        request.usable = true;
        request.remove = true;
    }

    // What cannot be compared needs no time to come to rest.
    void ask_about(const Question &question, agent::JudgeRequest &request) const override
    {
        constexpr std::uint64_t kAny = std::numeric_limits<std::uint64_t>::max();
        if (question.crashed)
            request.expected = healthy_.known ? healthy_ : SpaceRange{true, {0, 0}, {kAny, kAny}};
    }

    void judge(const Hearing &hearing, Judgement &judgement) const override
    {
        const agent::JudgeReply &reply = hearing.reply;
        if (!hearing.question.crashed)
            judge_healthy(reply, judgement);
        for (const agent::StepResult &step : reply.steps)
            if ((step.step == JudgeStep::usable || step.step == JudgeStep::remove) &&
                step.error_number != 0)
                add_evidence(judgement, {name(), Verdict::infra_error, step.message, {}});
        if (hearing.question.crashed)
            judge_problems(reply, judgement);
        for (const std::string &what : reply.not_tried)
            judgement.not_tried.push_back(fmt::format("{}: {}", name(), what));
        if (!reply.removed)
            return;
        judge_space(reply, judgement);
        judgement.used_when_empty = reply.used_after;
        if (!healthy_.known && hearing.question.crashed)
            judgement.not_tried.push_back(
                fmt::format("{}: leaks: no image without a crash could be emptied", name()));
    }

    bool changes_image() const override { return true; }
    void expect_space(const std::vector<SpaceUse> &healthy) override
    {
        healthy_ = space_range(healthy);
    }

private:
    void judge_healthy(const agent::JudgeReply &reply, Judgement &judgement) const
    {
        std::set<std::string> told;
        for (const UsableProblem &problem : reply.problems)
            if (const std::string summary = nameless_summary(problem); told.insert(summary).second)
                add_evidence(judgement, {name(), Verdict::inconsistent, summary,
                                         Details(details_of(problem))});
    }

    void judge_problems(const agent::JudgeReply &reply, Judgement &judgement) const
    {
        const UsableProblem *first = nullptr;
        json all = json::array();
        for (const UsableProblem &problem : reply.problems) {
            if (is_masked(nameless_summary(problem))) {
                ++judgement.masked;
                continue;
            }
            first = first ? first : &problem;
            all.push_back(details_of(problem));
        }
        if (first)
            add_evidence(judgement, {name(), Verdict::inconsistent,
                                     fmt::format("{}: {}: {}", first->operation, first->path,
                                                 words_of(*first)),
                                     Details(json{{"problems", all}})});
    }

    void judge_space(const agent::JudgeReply &reply, Judgement &judgement) const
    {
        const std::string wrong =
            healthy_.known ? difference(reply.used_after, healthy_) : std::string();
        if (wrong.empty())
            return;
        add_evidence(
            judgement,
            {name(), Verdict::inconsistent, wrong,
             Details(json{{"used_blocks", reply.used_after.blocks},
                          {"used_inodes", reply.used_after.inodes},
                          {"healthy_blocks", range_of(healthy_.least.blocks, healthy_.most.blocks)},
                          {"healthy_inodes", range_of(healthy_.least.inodes, healthy_.most.inodes)},
                          {"used_blocks_before", reply.used_before.blocks},
                          {"used_inodes_before", reply.used_before.inodes}})});
    }

    SpaceRange healthy_;
};

} // namespace

std::unique_ptr<Oracle> make_usable_oracle(const std::string &name, const JudgeSettings &)
{
    return std::make_unique<UsableOracle>(name);
}

} // namespace fencepost::oracle
