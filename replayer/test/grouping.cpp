// SPDX-License-Identifier: GPL-2.0-or-later
// See grouping.h.
#include "replayer/test/grouping.h"

#include <algorithm>
#include <utility>

#include "replayer/test/cause.h"

namespace fencepost::test {

using findings::Decides;
using findings::kAbsent;
using findings::kPresent;

namespace {

using Sites = std::vector<trace::SiteId>;
using Names = std::vector<std::string>;

// After so many failed searches, further images with the same summary are not probed.
constexpr unsigned kMostFailedProbes = 3;

// A function that works for a caller of whom nothing is known yet may have been let down by it.
bool works_for_one(const StoreCode &code, const Finding &finding)
{
    return code.callers.empty() || finding.callers.empty() || finding.unfenced ||
           std::any_of(code.callers.begin(), code.callers.end(), [&](const std::string &caller) {
               return has(finding.callers, caller) &&
                      (caller == code.caller() || has(finding.present_code, caller));
           });
}

bool lacks_one(const Explanation &explanation, const Finding &finding)
{
    return std::any_of(explanation.missing.begin(), explanation.missing.end(),
                       [&](const StoreInFlight &store) {
                           return is_one(store, finding.absent_sites, finding.absent_code) &&
                                  works_for_one(store.code, finding);
                       });
}

// Where nothing need be missing, whom the store works for must be the same.
bool has_one(const Explanation &explanation, const Finding &finding)
{
    const bool anybodys = finding.scope.empty() || !finding.absent_sites.empty();
    return std::any_of(explanation.present.begin(), explanation.present.end(),
                       [&](const StoreInFlight &store) {
                           return is_one(store, finding.present_sites, finding.present_code) &&
                                  (anybodys || store.code.caller() == finding.scope);
                       });
}

// As far as can be told without tests.
bool is_like(const Finding &finding, const Explanation &explanation)
{
    if (finding.absent_sites.empty() && finding.present_sites.empty())
        return false; // two tests tell
    return (finding.absent_sites.empty() || lacks_one(explanation, finding)) &&
           (finding.present_sites.empty() || has_one(explanation, finding));
}

// One more store that decides. `holds`: that there is none says nothing against the known ones.
void add(Finding &finding, std::string_view role, Sites &sites, Names &code,
         const std::optional<trace::EventRef> &store, const StoreCode &store_code, bool holds)
{
    if (sites.empty() || (!store && holds))
        return; // it is not about such a store, or still about the known ones
    if (!store) {
        sites.clear();
        code.clear();
    } else {
        if (!has(sites, store->site))
            sites.push_back(store->site);
        if (!has(code, store_code.name))
            code.push_back(store_code.name);
    }
    if (code.size() != 1)
        std::erase_if(finding.places, [&](const auto &place) { return place.role == role; });
}

// What differs is no longer the finding's, as long as something is left.
void join(Finding &finding, const Explanation &explanation)
{
    const DecidingStores &decided = *explanation.decided;
    if ((!decided.absent && !decided.present) || has_flag_already(finding, explanation))
        return;
    Finding joined = finding;
    // A function that breaks its own order does so whichever of its stores decides.
    const auto is_itself = [](const Names &code, const StoreCode &other) {
        return code.size() == 1 && code.front() == other.name;
    };
    const bool absent_holds = is_itself(finding.absent_code, explanation.present_code);
    const bool present_holds = is_itself(finding.present_code, explanation.absent_code) ||
                               one_is_there(explanation, finding);
    if (decided.present && joined.scope != explanation.present_code.caller())
        joined.scope.clear();
    add(joined, kAbsent, joined.absent_sites, joined.absent_code, decided.absent,
        explanation.absent_code, absent_holds);
    add(joined, kPresent, joined.present_sites, joined.present_code, decided.present,
        explanation.present_code, present_holds);
    if (joined.absent_sites.empty() && joined.present_sites.empty())
        return;
    joined.unfenced = joined.unfenced && !joined.absent_sites.empty() &&
                      (!decided.absent || is_unfenced(explanation));
    joined.decides =
        with_stores(joined.decides, !joined.absent_sites.empty(), !joined.present_sites.empty());
    finding = std::move(joined);
}

void set_stores(Finding &finding, const Explanation &explanation)
{
    finding.places.clear();
    const auto set = [&](std::string_view role, Sites &sites, Names &code,
                         const std::optional<trace::EventRef> &store, const StoreCode &store_code) {
        sites.clear();
        code.clear();
        if (!store)
            return;
        finding.places.push_back({.role = std::string(role), .at = {.event = *store}});
        sites = {store->site};
        code = {store_code.name};
    };
    const DecidingStores decided = explanation.decided.value_or(DecidingStores());
    set(kAbsent, finding.absent_sites, finding.absent_code, decided.absent,
        explanation.absent_code);
    set(kPresent, finding.present_sites, finding.present_code, decided.present,
        explanation.present_code);
    finding.scope = scope_of(explanation);
    finding.unfenced = explanation.decided && is_unfenced(explanation);
    finding.decides = with_stores(explanation.decided ? Decides::neither : Decides::unknown,
                                  !finding.absent_sites.empty(), !finding.present_sites.empty());
}

// Who may be to blame for this image, if its store is of the finding's code.
void add_caller(Finding &finding, const Explanation &explanation)
{
    if (!explanation.decided || (!explanation.decided->absent && !explanation.decided->present))
        return;
    const bool absent = explanation.decided->absent.has_value();
    const std::string &code = absent ? explanation.absent_code.name : explanation.present_code.name;
    const bool is_of_finding = has(absent ? finding.absent_code : finding.present_code, code);
    const bool breaks_own_order = absent && has(finding.present_code, code);
    const std::string caller = caller_to_blame(explanation);
    if (is_of_finding && !breaks_own_order && !caller.empty() && !has(finding.callers, caller))
        finding.callers.push_back(caller);
}

// Not before it is explained: other causes say the same words.
void add_ids(Finding &finding, const oracle::Evidence &evidence, const Explanation &explanation)
{
    if (explanation.decided)
        for (const std::string &id : cause_ids(evidence, explanation))
            if (id != finding.id && !has(finding.other_ids, id))
                finding.other_ids.push_back(id);
}

std::string key_of(std::string_view oracle, std::string_view verdict, std::string_view summary)
{
    return std::string(oracle).append("\n").append(verdict).append("\n").append(summary);
}

} // namespace

std::string Grouping::key_of(const oracle::Evidence &evidence)
{
    return test::key_of(evidence.oracle, to_string(evidence.verdict), evidence.summary);
}

Grouping::Grouping(const std::vector<Finding> &known)
{
    for (const Finding &finding : known) {
        Known &each = known_.emplace_back(Known{finding});
        each.keys = {test::key_of(finding.oracle, finding.verdict, finding.summary)};
        for (const findings::Symptom &also : finding.also)
            each.keys.insert(test::key_of(also.oracle, also.verdict, also.summary));
    }
}

std::string Grouping::explained_by(const oracle::Evidence &evidence,
                                   const Explanation &explanation) const
{
    const std::string key = key_of(evidence);
    std::string first;
    for (const Known &known : known_) {
        if (!known.keys.contains(key))
            continue;
        if (is_like(known.finding, explanation))
            return known.finding.id;
        if (first.empty())
            first = known.finding.id;
    }
    const auto failed = failed_probes_.find(key);
    return failed != failed_probes_.end() && failed->second >= kMostFailedProbes ? first : "";
}

Grouping::Known *Grouping::find(const oracle::Evidence &evidence, const Explanation &explanation)
{
    const std::string key = key_of(evidence);
    const std::string_view damage = class_of(to_string(evidence.verdict));
    const auto first = [&](auto &&matches) -> Known * {
        const auto found = std::find_if(known_.begin(), known_.end(), matches);
        return found == known_.end() ? nullptr : &*found;
    };
    // First those with the same words, then those that break something alike.
    const auto best = [&](auto &&with_words, auto &&with_others) {
        Known *known = first(
            [&](const Known &each) { return each.keys.contains(key) && with_words(each.finding); });
        return known ? known : first([&](const Known &each) {
            return class_of(each.finding.verdict) == damage && with_others(each.finding);
        });
    };
    if (!explanation.decided) {
        if (Known *like =
                first([&](const Known &each) { return each.finding.id == explanation.like; }))
            return like;
        // What could not be found out is no reason for one finding more.
        return best([](const Finding &) { return true; },
                    [&](const Finding &finding) { return is_like(finding, explanation); });
    }
    const auto never = [](const Finding &) { return false; };
    const auto same = [&](const Finding &finding) { return same_cause(finding, explanation); };
    const auto flag = [&](const Finding &finding) { return same_flag(finding, explanation); };
    const auto continued = [&](const Finding &finding) { return continues(finding, explanation); };
    if (Known *known = best(same, same))
        return known;
    if (Known *known = best(flag, never))
        return known;
    if (Known *known = best(continued, continued))
        return known;
    return best([](const Finding &finding) { return finding.decides == Decides::unknown; }, never);
}

bool Grouping::has_id(const std::string &id) const
{
    return std::any_of(known_.begin(), known_.end(),
                       [&](const Known &known) { return known.finding.id == id; });
}

std::string Grouping::new_id(const oracle::Evidence &evidence, const Explanation &explanation) const
{
    const std::string least = cause_ids(evidence, explanation).front();
    std::string id = least;
    for (unsigned number = 0; has_id(id); ++number)
        id = longer_cause_id(least, evidence, explanation, number);
    return id;
}

Grouping::Placed Grouping::place(const oracle::Evidence &evidence, const Explanation &explanation)
{
    const std::string key = key_of(evidence);
    failed_probes_[key] += explanation.probing_failed;
    Known *found = find(evidence, explanation);
    const bool is_new = found == nullptr;
    if (is_new)
        found = &known_.emplace_back(Known{
            .finding = {.id = new_id(evidence, explanation), .kind = findings::Kind::crash_state}});
    Finding &finding = found->finding;
    found->keys.insert(key);
    const bool shows = is_new || (explanation.decided && finding.decides == Decides::unknown);
    if (shows) {
        finding.verdict = to_string(evidence.verdict);
        finding.oracle = evidence.oracle;
        finding.summary = evidence.summary;
        set_stores(finding, explanation);
    } else if (explanation.decided)
        join(finding, explanation);
    add_caller(finding, explanation);
    add_ids(finding, evidence, explanation);
    ++finding.count;
    return {finding, shows};
}

} // namespace fencepost::test
