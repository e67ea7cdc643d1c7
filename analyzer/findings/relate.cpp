// SPDX-License-Identifier: GPL-2.0-or-later
// See relate.h.
#include "analyzer/findings/relate.h"

#include <algorithm>

namespace fencepost::findings {

namespace {

// By name: a site is another one in each process that runs the same code.
bool same_code(const symbols::CodePlace &a, const symbols::CodePlace &b)
{
    return a.function == b.function && a.offset == b.offset && a.module == b.module;
}

// A copy routine stores for everybody, so the call of it must be the same too.
bool same_store(const symbols::EventPlace &a, const symbols::EventPlace &b)
{
    const bool same_call =
        a.callers.empty() || b.callers.empty() || same_code(a.callers.front(), b.callers.front());
    return a.event.site != 0 && b.event.site != 0 && same_code(a.code, b.code) && same_call;
}

bool decides(const Place &place)
{
    return place.role == kAbsent || place.role == kPresent;
}

bool name_the_same_store(const Finding &by_rule, const Finding &by_states)
{
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

} // namespace fencepost::findings
