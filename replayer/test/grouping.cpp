// SPDX-License-Identifier: GPL-2.0-or-later
// See grouping.h.
#include "replayer/test/grouping.h"

#include <algorithm>
#include <iterator>

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

Grouping::Grouping(const std::vector<Finding> &known)
{
    for (const Finding &finding : known)
        known_[key_of(finding)].push_back(finding);
}

Finding Grouping::place(const oracle::Evidence &evidence, const Suspects &suspects)
{
    Finding finding = {.verdict = to_string(evidence.verdict), .oracle = evidence.oracle, .summary = evidence.summary};
    finding.decides = suspects.missing.empty() ? "present" : "absent";
    for (const states::MissingStore &store : suspects.missing)
        finding.sites.push_back(store.site);
    if (suspects.missing.empty())
        finding.sites.push_back(suspects.last_store);
    std::vector<Finding> &same = known_[key_of(finding)];
    for (Finding &known : same) {
        if (known.decides != finding.decides)
            continue;
        std::vector<trace::SiteId> common;
        std::copy_if(known.sites.begin(), known.sites.end(), std::back_inserter(common), [&](trace::SiteId site) {
            return std::find(finding.sites.begin(), finding.sites.end(), site) != finding.sites.end();
        });
        if (common.empty())
            continue;
        known.sites = common;
        known.site = common.front();
        return known;
    }
    finding.site = finding.sites.front();
    // Not from the site, which may yet turn out to be another: the same in every run in which the same thing is wrong.
    finding.id = Digest().add(key_of(finding)).add(finding.decides).add(std::to_string(same.size())).hex().substr(0, 12);
    same.push_back(finding);
    return finding;
}

} // namespace fencepost::test
