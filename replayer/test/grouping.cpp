// SPDX-License-Identifier: GPL-2.0-or-later
// See grouping.h.
#include "replayer/test/grouping.h"

#include <algorithm>

#include "base/digest.h"

namespace fencepost::test {

using findings::Decides;
using findings::kAbsent;
using findings::kPresent;

namespace {

using Sites = std::vector<trace::SiteId>;

// After so many failed searches, further images with the same summary are not probed.
constexpr unsigned kMostFailedProbes = 3;

bool has(const Sites &sites, trace::SiteId site)
{
    return std::find(sites.begin(), sites.end(), site) != sites.end();
}

bool has_site(const std::vector<trace::EventRef> &stores, trace::SiteId site)
{
    return std::any_of(stores.begin(), stores.end(),
                       [&](const trace::EventRef &store) { return store.site == site; });
}

bool has_one_of(const std::vector<trace::EventRef> &stores, const Sites &sites)
{
    return std::any_of(stores.begin(), stores.end(),
                       [&](const trace::EventRef &store) { return has(sites, store.site); });
}

// A store that was executed and is no longer in flight is guaranteed, and so there.
bool one_is_there(const Explanation &explanation, const Sites &sites)
{
    return std::any_of(sites.begin(), sites.end(), [&](trace::SiteId site) {
        return has_site(explanation.present, site) || !has_site(explanation.missing, site);
    });
}

// As far as can be told without tests.
bool is_like(const Finding &finding, const Explanation &explanation)
{
    if (finding.absent_sites.empty() && finding.present_sites.empty())
        return false; // two tests tell
    return (finding.absent_sites.empty() ||
            has_one_of(explanation.missing, finding.absent_sites)) &&
           (finding.present_sites.empty() ||
            has_one_of(explanation.present, finding.present_sites));
}

bool same_site(const Finding &finding, std::string_view role,
               const std::optional<trace::EventRef> &store)
{
    const findings::Place *known = place_of(finding, role);
    return known && store && known->at.event.site == store->site;
}

// One more store that decides. `holds`: that there is none says nothing against the known one.
void add(Finding &finding, std::string_view role, Sites &sites,
         const std::optional<trace::EventRef> &store, bool holds)
{
    if (sites.empty() || (!store && holds))
        return; // it is not about such a store, or still about the known one
    if (!store)
        sites.clear();
    else if (!has(sites, store->site))
        sites.push_back(store->site);
    if (!same_site(finding, role, store))
        std::erase_if(finding.places, [&](const auto &place) { return place.role == role; });
}

// Whether both fail for the same reason; what differs is no longer the finding's.
bool join(Finding &finding, const DecidingStores &decided, const Explanation &explanation)
{
    // What decided by its presence may be guaranteed by now. Then it decides no more.
    const bool present_holds = one_is_there(explanation, finding.present_sites);
    if (!decided.absent && !decided.present)
        return finding.decides == Decides::neither ||
               (finding.decides == Decides::present && present_holds);
    const bool goes_on = !decided.present && present_holds && decided.absent &&
                         has(finding.absent_sites, decided.absent->site);
    if (!same_site(finding, kAbsent, decided.absent) &&
        !same_site(finding, kPresent, decided.present) && !goes_on)
        return false;
    add(finding, kAbsent, finding.absent_sites, decided.absent, false);
    add(finding, kPresent, finding.present_sites, decided.present, present_holds);
    finding.decides =
        with_stores(finding.decides, !finding.absent_sites.empty(), !finding.present_sites.empty());
    return true;
}

void set_stores(Finding &finding, const std::optional<DecidingStores> &decided)
{
    finding.places.clear();
    const auto set = [&](std::string_view role, Sites &sites,
                         const std::optional<trace::EventRef> &store) {
        sites.clear();
        if (!store)
            return;
        finding.places.push_back({.role = std::string(role), .at = {.event = *store}});
        sites = {store->site};
    };
    set(kAbsent, finding.absent_sites, decided ? decided->absent : std::nullopt);
    set(kPresent, finding.present_sites, decided ? decided->present : std::nullopt);
    finding.decides = with_stores(decided ? Decides::neither : Decides::unknown,
                                  !finding.absent_sites.empty(), !finding.present_sites.empty());
}

} // namespace

std::string Grouping::key_of(const oracle::Evidence &evidence)
{
    return evidence.oracle + '\n' + to_string(evidence.verdict) + '\n' + evidence.summary;
}

std::string Grouping::key_of(const Finding &finding)
{
    return finding.oracle + '\n' + finding.verdict + '\n' + finding.summary;
}

Grouping::Grouping(const std::vector<Finding> &known)
{
    for (const Finding &finding : known)
        known_[key_of(finding)].findings.push_back(finding);
}

std::string Grouping::explained_by(const oracle::Evidence &evidence,
                                   const Explanation &explanation) const
{
    const auto same = known_.find(key_of(evidence));
    if (same == known_.end() || same->second.findings.empty())
        return "";
    for (const Finding &finding : same->second.findings)
        if (is_like(finding, explanation))
            return finding.id;
    return same->second.failed_probes < kMostFailedProbes ? "" : same->second.findings.front().id;
}

Grouping::Placed Grouping::place(const oracle::Evidence &evidence, const Explanation &explanation)
{
    Alike &alike = known_[key_of(evidence)];
    alike.failed_probes += explanation.probing_failed;
    std::vector<Finding> &same = alike.findings;
    const auto &decided = explanation.decided;
    const auto find = [&](auto &&matches) {
        return std::find_if(same.begin(), same.end(), matches);
    };
    auto found = decided ? find([&](Finding &known) { return join(known, *decided, explanation); })
                         : find([&](const Finding &known) { return known.id == explanation.like; });
    // What could not be found out is no reason for one finding more.
    if (found == same.end() && !decided)
        found = same.begin();
    bool shows = false;
    if (found == same.end()) {
        found = find([](const Finding &known) { return known.decides == Decides::unknown; });
        shows = true;
    }
    if (found == same.end()) {
        // Not from the sites, of which one may yet turn out to be another's: mostly the same in
        // every run in which the same thing is wrong.
        const std::string id =
            Digest().add(key_of(evidence)).add(std::to_string(same.size())).hex().substr(0, 12);
        same.push_back({.id = id,
                        .kind = findings::Kind::crash_state,
                        .summary = evidence.summary,
                        .verdict = to_string(evidence.verdict),
                        .oracle = evidence.oracle});
        found = same.end() - 1;
    }
    if (shows)
        set_stores(*found, decided);
    ++found->count;
    return {*found, shows};
}

} // namespace fencepost::test
