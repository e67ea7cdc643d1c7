// SPDX-License-Identifier: GPL-2.0-or-later
// See relate.h.
#include "analyzer/findings/relate.h"

#include <algorithm>

#include "analyzer/findings/site_name.h"

namespace fencepost::findings {

using symbols::EventPlace;

namespace {

// By name: a site is another one in each process that runs the same code.
bool same_function(const symbols::CodePlace &a, const symbols::CodePlace &b)
{
    return a.function == b.function && a.module == b.module;
}

bool same_code(const symbols::CodePlace &a, const symbols::CodePlace &b)
{
    return same_function(a, b) && a.offset == b.offset;
}

// To its author one call of a copy routine is one store, though memcpy() makes two of 8 to 16
// bytes.
bool of_one_copy(const symbols::EventPlace &a, const symbols::EventPlace &b)
{
    const bool neighbours =
        std::max(a.event.seq, b.event.seq) - std::min(a.event.seq, b.event.seq) == 1;
    const bool same_routine =
        (!a.code.named && !b.code.named) || a.code.function == b.code.function;
    return neighbours && same_routine && !a.callers.empty() && !b.callers.empty();
}

bool is_of_a_copy(const EventPlace &at)
{
    return &responsible_code(at) != &at.code;
}

// A copy routine stores for everybody, so the call of it must be the same too.
bool same_store(const symbols::EventPlace &a, const symbols::EventPlace &b)
{
    if (a.event.site == 0 || b.event.site == 0)
        return false;
    const bool same_call =
        a.callers.empty() || b.callers.empty() || same_code(a.callers.front(), b.callers.front());
    const bool one_copy = is_of_a_copy(a) && is_of_a_copy(b) && same_function(a.code, b.code);
    return same_call && (one_copy || same_code(a.code, b.code) || of_one_copy(a, b));
}

bool decides(const Place &place)
{
    return place.role == kAbsent || place.role == kPresent;
}

// Its callers are known only of the stores that have a place. What stores for several callers is as
// many places.
bool is_deciding_site(const EventPlace &at, const Finding &by_states)
{
    const auto has = [](const auto &values, const auto &value) {
        return std::find(values.begin(), values.end(), value) != values.end();
    };
    if (at.event.site == 0)
        return false;
    const std::string name = site_name(at, "");
    if (!has(by_states.absent_code, name) && !has(by_states.present_code, name))
        return false;
    if (std::none_of(by_states.deciding.begin(), by_states.deciding.end(),
                     [&](const symbols::CodePlace &code) {
                         return same_code(code, at.code) ||
                                (is_of_a_copy(at) && same_function(code, at.code));
                     }))
        return false;
    const auto in_its_function = [&](const Place &place) {
        return decides(place) && same_function(place.at.code, at.code);
    };
    const auto for_its_caller = [&](const Place &place) {
        return in_its_function(place) &&
               (place.at.callers.empty() || at.callers.empty() ||
                same_function(place.at.callers.front(), at.callers.front()));
    };
    const std::vector<Place> &places = by_states.places;
    return std::none_of(places.begin(), places.end(), in_its_function) ||
           std::any_of(places.begin(), places.end(), for_its_caller);
}

bool name_the_same_store(const Finding &by_rule, const Finding &by_states)
{
    if (std::any_of(by_rule.places.begin(), by_rule.places.end(),
                    [&](const Place &at) { return is_deciding_site(at.at, by_states); }))
        return true;
    return std::any_of(
        by_states.places.begin(), by_states.places.end(), [&](const Place &deciding) {
            return decides(deciding) &&
                   std::any_of(by_rule.places.begin(), by_rule.places.end(),
                               [&](const Place &at) { return same_store(at.at, deciding.at); });
        });
}

} // namespace

void name_places(Finding &finding, const symbols::CodeNames &names)
{
    for (Place &place : finding.places)
        place.at = names.place(place.at.event);
    finding.deciding.clear();
    for (const auto *sites : {&finding.absent_sites, &finding.present_sites})
        for (const trace::SiteId site : *sites) {
            symbols::CodePlace code = names.code(site);
            if (std::none_of(finding.deciding.begin(), finding.deciding.end(),
                             [&](const symbols::CodePlace &each) { return same_code(each, code); }))
                finding.deciding.push_back(std::move(code));
        }
}

void relate(std::vector<Finding> &by_rules, std::vector<Finding> &by_states)
{
    for (Finding &rule : by_rules) {
        if (rule.severity == Severity::performance)
            continue;
        for (Finding &state : by_states) {
            if (!name_the_same_store(rule, state))
                continue;
            rule.related.push_back({state.id, state.kind, state.oracle});
            state.related.push_back({rule.id, rule.kind, rule.rule});
            if (rule.part_of.empty() && state.severity <= rule.severity)
                rule.part_of = state.id;
        }
    }
}

} // namespace fencepost::findings
