// SPDX-License-Identifier: GPL-2.0-or-later
// See masks.h.
#include "replayer/oracle/masks.h"

#include <cstring>

namespace fencepost::oracle {

bool is_maskable(const Evidence &objection)
{
    return objection.verdict == Verdict::inconsistent && objection.oracle != "program" &&
           objection.oracle != "guest" && objection.oracle != "harness";
}

Evidence evidence_of(const agent::UsableProblem &problem)
{
    return {"usable",
            Verdict::inconsistent,
            fmt::format("{}: {}", problem.operation,
                        problem.error_number == 0 ? "what came back is not what went in"
                                                  : std::strerror(problem.error_number)),
            {{"path", problem.path},
             {"operation", problem.operation},
             {"error_number", problem.error_number}}};
}

Masks::Masks(const std::vector<Evidence> &objections)
{
    for (const Evidence &each : objections) {
        if (!is_maskable(each))
            continue;
        if (each.oracle == "mount")
            lines_.insert(each.summary);
        else
            said_.emplace(each.oracle, each.summary);
    }
}

bool Masks::covers(const agent::UsableProblem &problem) const
{
    return covers(evidence_of(problem));
}

bool Masks::covers(const Evidence &evidence) const
{
    return is_maskable(evidence) && said_.contains({evidence.oracle, evidence.summary});
}

} // namespace fencepost::oracle
