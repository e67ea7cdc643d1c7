// SPDX-License-Identifier: GPL-2.0-or-later
// See usable_evidence.h.
#include "replayer/oracle/usable_evidence.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace fencepost::oracle {

using agent::JudgeStep;
using agent::SpaceRange;
using agent::SpaceUse;

namespace {

Evidence of_problems(const std::vector<agent::UsableProblem> &problems)
{
    const agent::UsableProblem &first = problems.front();
    nlohmann::json all = nlohmann::json::array();
    for (const agent::UsableProblem &problem : problems)
        all.push_back({{"path", problem.path},
                       {"operation", problem.operation},
                       {"error_number", problem.error_number}});
    return {"usable",
            Verdict::inconsistent,
            fmt::format("{}: {}: {}", first.operation, first.path,
                        first.error_number == 0 ? "what came back is not what went in"
                                                : std::strerror(first.error_number)),
            {{"problems", all}}};
}

nlohmann::json range_of(std::uint64_t least, std::uint64_t most)
{
    return least == most ? nlohmann::json(least) : nlohmann::json({least, most});
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

} // namespace

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

std::vector<Evidence> usable_evidence(const guest::JudgeReply &reply,
                                      const std::vector<agent::UsableProblem> &problems,
                                      const SpaceRange &healthy)
{
    std::vector<Evidence> evidence;
    for (const agent::StepResult &step : reply.steps)
        if ((step.step == JudgeStep::usable || step.step == JudgeStep::remove) &&
            step.error_number != 0)
            evidence.push_back({"usable", Verdict::infra_error, step.message, {}});
    if (!problems.empty())
        evidence.push_back(of_problems(problems));
    if (!reply.removed || !healthy.known)
        return evidence;
    if (const std::string wrong = difference(reply.used_after, healthy); !wrong.empty())
        evidence.push_back(
            {"usable",
             Verdict::inconsistent,
             wrong,
             {{"used_blocks", reply.used_after.blocks},
              {"used_inodes", reply.used_after.inodes},
              {"healthy_blocks", range_of(healthy.least.blocks, healthy.most.blocks)},
              {"healthy_inodes", range_of(healthy.least.inodes, healthy.most.inodes)},
              {"used_blocks_before", reply.used_before.blocks},
              {"used_inodes_before", reply.used_before.inodes}}});
    return evidence;
}

} // namespace fencepost::oracle
