// SPDX-License-Identifier: GPL-2.0-or-later
// See oracle.h.
#include "replayer/oracle/oracle.h"

#include <algorithm>

#include "replayer/oracle/log_watch.h"
#include "replayer/oracle/oracle_table.h"
#include "replayer/oracle/own_oracle.h"

namespace fencepost::oracle {

const agent::StepResult *Hearing::failed(agent::JudgeStep step) const
{
    const auto found =
        std::find_if(reply.steps.begin(), reply.steps.end(), [&](const agent::StepResult &result) {
            return result.step == step && result.error_number != 0;
        });
    return found == reply.steps.end() ? nullptr : &*found;
}

void Oracle::mask(const std::vector<Evidence> &objections)
{
    masked_.clear();
    trusted_ = true;
    for (const Evidence &each : objections) {
        if (each.oracle != name_)
            continue;
        trusted_ = trusted_ && !ends_trust(each);
        if (is_maskable(each))
            masked_.insert(mask_key(each.summary));
    }
}

bool Oracle::is_masked(const std::string &summary) const
{
    return masked_.contains(mask_key(summary));
}

void Oracle::object(const Question &question, Evidence evidence, Judgement &judgement) const
{
    if (question.crashed && is_maskable(evidence) && is_masked(evidence.summary))
        ++judgement.masked;
    else
        add_evidence(judgement, std::move(evidence));
}

bool is_maskable(const Evidence &objection)
{
    if (objection.verdict != Verdict::inconsistent || objection.oracle == "guest" ||
        objection.oracle == "harness")
        return false;
    const OracleEntry *entry = find_entry(objection.oracle);
    return entry ? entry->objection == HealthyObjection::is_masked : !is_own(objection.oracle);
}

bool ends_trust(const Evidence &objection)
{
    const OracleEntry *entry = find_entry(objection.oracle);
    return objection.verdict == Verdict::inconsistent && entry &&
           entry->objection == HealthyObjection::ends_trust;
}

} // namespace fencepost::oracle
