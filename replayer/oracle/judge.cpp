// SPDX-License-Identifier: GPL-2.0-or-later
// See judge.h.
#include "replayer/oracle/judge.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "replayer/oracle/lost_guest.h"

namespace fencepost::oracle {

const char *to_string(Verdict verdict)
{
    switch (verdict) {
    case Verdict::pass:
        return "pass";
    case Verdict::inconsistent:
        return "inconsistent";
    case Verdict::recovery_failed:
        return "recovery_failed";
    case Verdict::guest_hang:
        return "guest_hang";
    case Verdict::guest_crash:
        return "guest_crash";
    case Verdict::infra_error:
        return "infra_error";
    }
    return "unknown";
}

Verdict verdict_named(std::string_view name)
{
    for (const Verdict each : {Verdict::pass, Verdict::inconsistent, Verdict::recovery_failed,
                               Verdict::guest_hang, Verdict::guest_crash})
        if (name == to_string(each))
            return each;
    return Verdict::infra_error;
}

void add_evidence(Judgement &judgement, Evidence evidence)
{
    Verdict &verdict = judgement.verdict;
    if (evidence.verdict == Verdict::infra_error)
        verdict = verdict == Verdict::pass ? Verdict::infra_error : verdict;
    else if (verdict == Verdict::infra_error)
        verdict = evidence.verdict;
    else
        verdict = std::max(verdict, evidence.verdict);
    judgement.evidence.push_back(std::move(evidence));
}

const Evidence &deciding_evidence(const Judgement &judgement)
{
    const auto found =
        std::find_if(judgement.evidence.begin(), judgement.evidence.end(),
                     [&](const Evidence &each) { return each.verdict == judgement.verdict; });
    CHECK(found != judgement.evidence.end(), "a verdict other than pass comes with its evidence");
    return *found;
}

const std::string &title_of(const Evidence &evidence)
{
    return evidence.title.empty() ? evidence.summary : evidence.title;
}

bool same_failure(const Evidence &a, const Evidence &b)
{
    return a.oracle == b.oracle && a.verdict == b.verdict && a.summary == b.summary;
}

bool is_failure(Verdict verdict)
{
    return verdict != Verdict::pass && verdict != Verdict::infra_error;
}

Judgement Judge::judge(const Subject &subject)
{
    Judgement judgement;
    try {
        examine(subject, judgement);
    } catch (const Error &why) {
        if (why.kind() != ErrorKind::guest)
            throw;
        end_with(judge_lost(subject.guest, why), judgement);
    }
    if (!is_failure(judgement.verdict) && !subject.keep_tree)
        judgement.tree.reset();
    return judgement;
}

void Judge::end_with(Judgement crash, Judgement &judgement)
{
    crash.oracle_seconds = judgement.oracle_seconds;
    if (!crash.guest_lost) {
        crash.guest_seconds = judgement.guest_seconds;
        crash.tree = std::move(judgement.tree);
    }
    judgement = std::move(crash);
}

} // namespace fencepost::oracle
