// SPDX-License-Identifier: GPL-2.0-or-later
// Explanations of failing images, and what a finding has of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "replayer/test/explanation.h"
#include "replayer/test/results.h"

namespace fencepost::test {

inline std::string name_of(trace::SiteId site)
{
    return "f" + std::to_string(site);
}

// Sites of stores in flight that an image lacks and has; nothing was tested.
inline Explanation guess(const std::vector<trace::SiteId> &missing,
                         const std::vector<trace::SiteId> &present)
{
    Explanation explanation;
    for (const trace::SiteId site : missing)
        explanation.missing.push_back({site, {name_of(site), {"operation", "main"}}});
    for (const trace::SiteId site : present)
        explanation.present.push_back({site, {name_of(site), {"operation", "main"}}});
    return explanation;
}

// Sites that tests found to decide; 0: none. Each is a function of its own, called by one that
// `main` calls.
inline Explanation tested(trace::SiteId absent, trace::SiteId present, Explanation explanation = {})
{
    explanation.decided.emplace();
    if (absent != 0) {
        explanation.decided->absent = {.seq = absent, .site = absent};
        explanation.absent_code = {name_of(absent), {"operation", "main"}};
    }
    if (present != 0) {
        explanation.decided->present = {.seq = present, .site = present};
        explanation.present_code = {name_of(present), {"operation", "main"}};
    }
    explanation.last = {"last", {"operation", "main"}};
    return explanation;
}

// As tested(), with names of functions, the innermost first.
inline Explanation in_code(const std::vector<std::string> &absent,
                           const std::vector<std::string> &present)
{
    static trace::SiteId site = 100;
    const auto code = [](const std::vector<std::string> &names) {
        return StoreCode{names.front(), {names.begin() + 1, names.end()}};
    };
    site += 2;
    Explanation explanation = tested(absent.empty() ? 0 : site, present.empty() ? 0 : site + 1);
    if (!absent.empty())
        explanation.absent_code = code(absent);
    if (!present.empty())
        explanation.present_code = code(present);
    return explanation;
}

// 0: it has no such place.
inline trace::SiteId site_of(const Finding &finding, std::string_view role)
{
    const findings::Place *place = place_of(finding, role);
    return place ? place->at.event.site : 0;
}

} // namespace fencepost::test
