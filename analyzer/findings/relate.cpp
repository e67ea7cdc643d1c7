// SPDX-License-Identifier: GPL-2.0-or-later
// See relate.h.
#include "analyzer/findings/relate.h"

#include <algorithm>

#include "analyzer/findings/site_name.h"

namespace fencepost::findings {

using symbols::EventPlace;

namespace {

// By name: a site is another one in each process that runs the same code.
bool same_code(const symbols::CodePlace &a, const symbols::CodePlace &b)
{
    return a.function == b.function && a.offset == b.offset && a.module == b.module;
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

// A copy routine stores for everybody, so the call of it must be the same too.
bool same_store(const symbols::EventPlace &a, const symbols::EventPlace &b)
{
    if (a.event.site == 0 || b.event.site == 0)
        return false;
    const bool same_call =
        a.callers.empty() || b.callers.empty() || same_code(a.callers.front(), b.callers.front());
    return same_call && (same_code(a.code, b.code) || of_one_copy(a, b));
}

bool decides(const Place &place)
{
    return place.role == kAbsent || place.role == kPresent;
}

// It has a place only for one of all the stores that decide.
bool is_deciding_site(const EventPlace &at, const Finding &by_states)
{
    const auto has = [](const auto &values, const auto &value) {
        return std::find(values.begin(), values.end(), value) != values.end();
    };
    if (at.event.site == 0)
        return false;
    const std::string name = site_name(at, "");
    return (has(by_states.absent_sites, at.event.site) && has(by_states.absent_code, name)) ||
           (has(by_states.present_sites, at.event.site) && has(by_states.present_code, name));
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
        }
    }
}

bool is_part_of_one(const Finding &by_rule, const std::vector<Finding> &by_states)
{
    return std::any_of(by_rule.related.begin(), by_rule.related.end(), [&](const Related &related) {
        return std::any_of(by_states.begin(), by_states.end(), [&](const Finding &state) {
            return state.id == related.id && state.severity <= by_rule.severity;
        });
    });
}

} // namespace fencepost::findings
