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
