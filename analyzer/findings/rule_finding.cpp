// SPDX-License-Identifier: GPL-2.0-or-later
// See rule_finding.h.
#include "analyzer/findings/rule_finding.h"

namespace fencepost::findings {

std::string_view name_of(Severity severity)
{
    constexpr std::string_view kNames[] = {"bug", "warning", "performance"};
    return kNames[static_cast<unsigned>(severity)];
}

std::optional<Severity> severity_named(std::string_view name)
{
    for (const Severity severity : kSeverities)
        if (name_of(severity) == name)
            return severity;
    return std::nullopt;
}

} // namespace fencepost::findings
