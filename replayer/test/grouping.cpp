// SPDX-License-Identifier: GPL-2.0-or-later
// See grouping.h.
#include "replayer/test/grouping.h"

#include <algorithm>

#include "base/digest.h"

namespace fencepost::test {

using guest::Explanation;
using image::InFlightStore;

namespace {

std::string key_of(const Finding &finding)
{
    return finding.oracle + '\n' + finding.verdict + '\n' + finding.summary;
}

std::string key_of(const oracle::Evidence &evidence)
{
    return evidence.oracle + '\n' + to_string(evidence.verdict) + '\n' + evidence.summary;
}

using Sites = std::vector<trace::SiteId>;

bool has(const Sites &sites, trace::SiteId site)
{
    return std::find(sites.begin(), sites.end(), site) != sites.end();
}

bool has_site(const std::vector<InFlightStore> &stores, trace::SiteId site)
{
    return std::any_of(stores.begin(), stores.end(),
                       [&](const InFlightStore &store) { return store.site == site; });
}

bool has_one_of(const std::vector<InFlightStore> &stores, const Sites &sites)
{
    return std::any_of(stores.begin(), stores.end(),
                       [&](const InFlightStore &store) { return has(sites, store.site); });
}

// A store that is no longer in flight is guaranteed, and so there.
bool one_is_there(const Explanation &explanation, const Sites &sites)
{
    return std::any_of(sites.begin(), sites.end(), [&](trace::SiteId site) {
        return has_site(explanation.present, site) || !has_site(explanation.missing, site);
    });
}

bool fits(const Finding &finding, const Explanation &explanation)
{
    if (finding.decides == Decides::unknown)
        return true;
    if (finding.absent_sites.empty())
        return has_one_of(explanation.present, finding.present_sites);
    return has_one_of(explanation.missing, finding.absent_sites) &&
           (finding.present_sites.empty() || one_is_there(explanation, finding.present_sites));
}

void add(Sites &sites, const std::optional<InFlightStore> &store)
{
    if (store && !has(sites, store->site))
        sites.push_back(store->site);
}

bool same_site(const std::optional<FindingStore> &known, const std::optional<InFlightStore> &store)
{
    return known && store && known->site == store->site;
}

// If both fail for the same reason: true, and the finding is about what they have in common.
bool join(Finding &finding, const guest::DecidingStores &decided, const Explanation &explanation)
{
    if (!decided.absent && !decided.present)
        // What decided by its presence may be guaranteed by now, and then nothing decides any more.
        return finding.decides == Decides::neither ||
               (finding.decides == Decides::present && finding.absent_sites.empty() &&
                one_is_there(explanation, finding.present_sites));
    const bool known = (decided.absent && has(finding.absent_sites, decided.absent->site)) ||
                       (decided.present && has(finding.present_sites, decided.present->site));
    if (!known)
        return false;
    add(finding.absent_sites, decided.absent);
    add(finding.present_sites, decided.present);
    const bool same_absent = same_site(finding.absent, decided.absent);
    const bool same_present = same_site(finding.present, decided.present);
    if (same_absent && !same_present)
        finding.present.reset();
    if (same_present && !same_absent)
        finding.absent.reset();
    finding.decides =
        with_stores(finding.decides, finding.absent.has_value(), finding.present.has_value());
    return true;
}

} // namespace

Grouping::Grouping(const std::vector<Finding> &known)
{
    for (const Finding &finding : known)
        known_[key_of(finding)].push_back(finding);
}

bool Grouping::explains(const oracle::Evidence &evidence, const Explanation &explanation) const
{
    const std::lock_guard guard(mutex_);
    const auto same = known_.find(key_of(evidence));
    return same != known_.end() &&
           std::any_of(same->second.begin(), same->second.end(),
                       [&](const Finding &finding) { return fits(finding, explanation); });
}

Grouping::Placed Grouping::place(const oracle::Evidence &evidence, const Explanation &explanation)
{
    const std::lock_guard guard(mutex_);
    std::vector<Finding> &same = known_[key_of(evidence)];
    const auto &decided = explanation.decided;
    auto found = std::find_if(same.begin(), same.end(), [&](Finding &known) {
        return decided ? join(known, *decided, explanation) : fits(known, explanation);
    });
    // What could not be found out is no reason for one finding more.
    if (found == same.end() && !decided && !same.empty())
        found = same.begin();
    if (found != same.end())
        return {*found, false};
    Finding finding = {.verdict = to_string(evidence.verdict),
                       .oracle = evidence.oracle,
                       .summary = evidence.summary};
    if (decided && decided->absent)
        finding.absent = {.site = decided->absent->site};
    if (decided && decided->present)
        finding.present = {.site = decided->present->site};
    if (finding.absent)
        finding.absent_sites = {finding.absent->site};
    if (finding.present)
        finding.present_sites = {finding.present->site};
    finding.decides = with_stores(decided ? Decides::neither : Decides::unknown,
                                  finding.absent.has_value(), finding.present.has_value());
    // Not from the sites, of which one may yet turn out to be another's: the same in every run in
    // which the same thing is wrong.
    finding.id =
        Digest().add(key_of(evidence)).add(std::to_string(same.size())).hex().substr(0, 12);
    same.push_back(finding);
    return {finding, true};
}

} // namespace fencepost::test
