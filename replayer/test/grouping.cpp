// SPDX-License-Identifier: GPL-2.0-or-later
// See grouping.h.
#include "replayer/test/grouping.h"

#include <algorithm>

#include "base/digest.h"
#include "base/error.h"

namespace fencepost::test {

namespace {

std::string key_of(const Finding &finding)
{
    return finding.oracle + '\n' + finding.verdict + '\n' + finding.summary;
}

} // namespace

const oracle::Evidence &deciding_evidence(const oracle::Judgement &judgement)
{
    const auto found =
        std::find_if(judgement.evidence.begin(), judgement.evidence.end(),
                     [&](const oracle::Evidence &each) { return each.verdict == judgement.verdict; });
    CHECK(found != judgement.evidence.end(), "a verdict other than pass comes with its evidence");
    return *found;
}

std::string finding_id(const Finding &finding)
{
    return Digest().add(key_of(finding)).add(finding.decides).add(finding.site_name).hex().substr(0, 12);
}

Grouping::Grouping(const std::vector<Finding> &known)
{
    for (const Finding &finding : known)
        add(finding);
}

void Grouping::add(const Finding &finding)
{
    known_[key_of(finding)].push_back(finding);
}

Finding Grouping::place(const oracle::Evidence &evidence, const Suspects &suspects) const
{
    Finding finding = {.verdict = to_string(evidence.verdict), .oracle = evidence.oracle, .summary = evidence.summary};
    finding.decides = suspects.missing.empty() ? "present" : "absent";
    finding.site = suspects.missing.empty() ? suspects.last_store : suspects.missing.front().site;
    const auto same = known_.find(key_of(finding));
    if (same == known_.end())
        return finding;
    for (const Finding &each : same->second) {
        const bool explains =
            each.decides == "absent"
                ? std::any_of(suspects.missing.begin(), suspects.missing.end(),
                              [&](const states::MissingStore &store) { return store.site == each.site; })
                : suspects.missing.empty() && each.site == suspects.last_store;
        if (explains)
            return each;
    }
    return finding;
}

} // namespace fencepost::test
