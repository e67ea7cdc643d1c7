// SPDX-License-Identifier: GPL-2.0-or-later
// See find.h.
#include "analyzer/findings/find.h"

#include <string>
#include <vector>

#include "base/error.h"
#include "base/nearest.h"
#include "base/terminal_text.h"

namespace fencepost::findings {

namespace {

constexpr std::size_t kShown = 60; // of what was typed

} // namespace

const Finding &find(std::span<const Finding> findings, std::string_view id)
{
    if (id.empty())
        fail(ErrorKind::usage, "the id of a finding is empty");
    const std::string typed = terminal_text(id.substr(0, kShown));
    if (findings.empty())
        fail(ErrorKind::usage, "there is no finding {}; the run has none", typed);
    const Finding *found = nullptr;
    for (const Finding &each : findings) {
        if (each.id == id)
            return each;
        if (!each.id.starts_with(id))
            continue;
        if (found)
            fail(ErrorKind::usage, "{} begins the ids of several findings, {} and {} among them",
                 typed, found->id, each.id);
        found = &each;
    }
    if (found)
        return *found;
    std::vector<std::string> ids;
    for (const Finding &each : findings)
        ids.push_back(each.id);
    fail(ErrorKind::usage, "there is no finding {}; the nearest is {}", typed,
         nearest_name(id.substr(0, kShown), ids));
}

} // namespace fencepost::findings
