// SPDX-License-Identifier: GPL-2.0-or-later
// See cause.h.
#include "replayer/test/cause.h"

#include "base/digest.h"

namespace fencepost::test {

using findings::Decides;
using findings::Finding;

namespace {

constexpr std::string_view kDamage = "damage";
constexpr std::size_t kIdSize = 12;

bool has_one(const std::vector<StoreInFlight> &stores, trace::SiteId site,
             const std::vector<std::string> &code)
{
    return std::any_of(stores.begin(), stores.end(), [&](const StoreInFlight &store) {
        return store.site == site && has(code, store.code.name);
    });
}

// All images of the finding have it.
bool is_common(const std::vector<std::string> &code, const std::string &name)
{
    return code.size() == 1 && code.front() == name;
}

bool present_is_there(const Finding &finding, const Explanation &explanation)
{
    return finding.decides == Decides::present && one_is_there(explanation, finding);
}

// What was wrong at first may be guaranteed later, until the operation is over.
bool is_later(const Finding &finding, const Explanation &explanation)
{
    if (finding.decides == Decides::neither)
        return finding.scope == scope_of(explanation);
    const StoreCode &last = explanation.last;
    return (last.name == finding.scope || has(last.callers, finding.scope)) &&
           present_is_there(finding, explanation);
}

// The store of somebody who works for many says only with its caller whose fault it is, unless it
// breaks its own order.
bool same_service(const Finding &finding, const Explanation &explanation)
{
    const StoreCode &present = explanation.present_code;
    return finding.scope == present.caller() || is_common(finding.absent_code, present.name);
}

// One function that decides by whatever order it stores in; with only persisted stores its caller
// may be the one that is wrong.
bool same_function(const Finding &finding, const Explanation &explanation)
{
    const auto &decided = *explanation.decided;
    const StoreCode &one = decided.absent ? explanation.absent_code : explanation.present_code;
    const auto is_one = [&](const std::string &name) { return name == one.name; };
    return (!decided.present || is_one(explanation.present_code.name)) &&
           std::all_of(finding.absent_code.begin(), finding.absent_code.end(), is_one) &&
           std::all_of(finding.present_code.begin(), finding.present_code.end(), is_one) &&
           (finding.absent_code.empty()
                ? !finding.present_code.empty() && finding.scope == one.caller()
                : true);
}

// Whoever writes what is lost works for the function whose store persists, so that the order is its
// business.
bool is_in_charge(const Explanation &explanation)
{
    const StoreCode &absent = explanation.absent_code;
    return absent.name == explanation.present_code.name ||
           has(absent.callers, explanation.present_code.name);
}

// It works for that function, or is it.
bool is_of(const std::string &scope, const StoreCode &code)
{
    return code.name == scope || code.caller() == scope;
}

// Names of things in quotes are the workload's.
std::string without_quoted(std::string_view text)
{
    std::string kept;
    for (bool quoted = false; const char each : text) {
        if (each == '\'' || each == '"')
            quoted = !quoted;
        else if (!quoted)
            kept += each;
    }
    return kept;
}

std::string words_of(const oracle::Evidence &evidence)
{
    return evidence.oracle + '\n' + without_quoted(evidence.summary);
}

// What is lost waits for a fence that is missing before the store that persists, whoever wrote what
// that fence would have guaranteed.
bool same_fence(const Finding &finding, const Explanation &explanation)
{
    return finding.unfenced && is_unfenced(explanation) && explanation.decided->present &&
           is_common(finding.present_code, explanation.present_code.name) &&
           finding.scope == explanation.present_code.caller();
}

} // namespace

std::string_view class_of(std::string_view verdict)
{
    return verdict == to_string(oracle::Verdict::inconsistent) ||
                   verdict == to_string(oracle::Verdict::recovery_failed)
               ? kDamage
               : verdict;
}

bool is_one(const StoreInFlight &store, const std::vector<trace::SiteId> &sites,
            const std::vector<std::string> &code)
{
    return has(sites, store.site) && has(code, store.code.name);
}

bool one_is_there(const Explanation &explanation, const Finding &finding)
{
    const auto &sites = finding.present_sites;
    const auto &code = finding.present_code;
    return std::any_of(sites.begin(), sites.end(), [&](trace::SiteId site) {
        return has_one(explanation.present, site, code) ||
               !has_one(explanation.missing, site, code);
    });
}

std::string scope_of(const Explanation &explanation)
{
    if (!explanation.decided)
        return "";
    if (explanation.decided->present)
        return explanation.present_code.caller();
    if (explanation.decided->absent)
        return "";
    return explanation.last.name + " < " + explanation.last.caller();
}

bool has_flag_already(const Finding &finding, const Explanation &explanation)
{
    const DecidingStores &decided = *explanation.decided;
    return !finding.scope.empty() && decided.absent &&
           is_of(finding.scope, explanation.absent_code) &&
           (!decided.present || is_of(finding.scope, explanation.present_code)) &&
           present_is_there(finding, explanation);
}

bool same_cause(const Finding &finding, const Explanation &explanation)
{
    const DecidingStores &decided = *explanation.decided;
    if (!decided.absent && !decided.present)
        return is_later(finding, explanation);
    if (decided.absent && is_common(finding.absent_code, explanation.absent_code.name))
        return true;
    if (same_function(finding, explanation) || same_fence(finding, explanation))
        return true;
    if (decided.present && has_flag_already(finding, explanation))
        return true;
    return decided.present && is_common(finding.present_code, explanation.present_code.name) &&
           (decided.absent ? is_in_charge(explanation) : same_service(finding, explanation));
}

bool same_flag(const Finding &finding, const Explanation &explanation)
{
    const DecidingStores &decided = *explanation.decided;
    if (!decided.absent && !decided.present)
        return finding.decides == Decides::neither || present_is_there(finding, explanation);
    if (has_flag_already(finding, explanation))
        return true;
    // Before the same flag, one thing was flushed and lacks its fence, the other was not flushed.
    if (decided.absent && !finding.absent_code.empty() &&
        finding.unfenced != is_unfenced(explanation))
        return false;
    return decided.present && is_common(finding.present_code, explanation.present_code.name) &&
           (finding.scope == explanation.present_code.caller() ||
            (finding.absent_code.empty() && !decided.absent));
}

bool continues(const Finding &finding, const Explanation &explanation)
{
    return explanation.decided->absent && has(finding.absent_code, explanation.absent_code.name) &&
           one_is_there(explanation, finding);
}

bool is_unfenced(const Explanation &explanation)
{
    return explanation.decided->absent && explanation.decided->absent_flushed;
}

std::string caller_to_blame(const Explanation &explanation)
{
    const DecidingStores &decided = *explanation.decided;
    const std::string &present = explanation.present_code.name;
    if (!decided.absent)
        return explanation.present_code.caller();
    if (decided.present && explanation.absent_code.name == present)
        return "";
    if (decided.present && is_in_charge(explanation))
        return present;
    return decided.present && is_unfenced(explanation) ? explanation.present_code.caller()
                                                       : explanation.absent_code.caller();
}

std::vector<std::string> cause_ids(const oracle::Evidence &evidence, const Explanation &explanation)
{
    const std::string_view damage = class_of(to_string(evidence.verdict));
    std::vector<std::string> ids;
    const auto add = [&](std::initializer_list<std::string_view> names) {
        Digest digest;
        digest.add(damage);
        for (const std::string_view name : names)
            digest.add(name);
        ids.push_back(digest.hex().substr(0, kIdSize));
    };
    const std::string words = words_of(evidence);
    const StoreCode &absent = explanation.absent_code;
    const StoreCode &present = explanation.present_code;
    const auto &decided = explanation.decided;
    // What crashes or hangs names its code itself.
    if (damage != kDamage || !decided)
        add({"words", words});
    else if (!decided->absent && !decided->present) {
        add({"neither", scope_of(explanation)});
        add({"words", words});
    } else if (!decided->absent) // so its caller may be the one that is wrong
        add({"in", present.name, present.caller()});
    else if (decided->present && is_in_charge(explanation)) {
        add({"in", present.name});
        add({"in", present.name, present.caller()}); // another image may lack nothing
        add({"in", absent.name});                    // or another store may persist
    } else {
        if (decided->present && is_unfenced(explanation))
            add({"fence", present.name, present.caller()});
        add({"in", absent.name});
        add({"in", absent.name, absent.caller()});
    }
    return ids;
}

std::string longer_cause_id(const std::string &id, const oracle::Evidence &evidence,
                            const Explanation &explanation, unsigned number)
{
    Digest digest;
    digest.add(id).add(explanation.absent_code.name).add(explanation.present_code.name);
    if (number > 0)
        digest.add(scope_of(explanation)).add(words_of(evidence));
    if (number > 1)
        digest.add(std::to_string(number));
    return digest.hex().substr(0, kIdSize);
}

} // namespace fencepost::test
