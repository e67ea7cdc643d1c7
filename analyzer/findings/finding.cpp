// SPDX-License-Identifier: GPL-2.0-or-later
// See finding.h.
#include "analyzer/findings/finding.h"

#include <algorithm>

namespace fencepost::findings {

namespace {

constexpr std::string_view kSeverityNames[] = {"bug", "warning", "performance"};
constexpr std::string_view kKindNames[] = {"rule", "crash_state", "workload"};
constexpr std::string_view kDecidesNames[] = {"order", "absent", "present", "neither", "unknown"};

template <typename Enum, std::size_t size>
std::optional<Enum> named(const std::string_view (&names)[size], std::string_view name)
{
    const auto *const found = std::find(std::begin(names), std::end(names), name);
    if (found == std::end(names))
        return std::nullopt;
    return static_cast<Enum>(found - std::begin(names));
}

} // namespace

std::string_view name_of(Severity severity)
{
    return kSeverityNames[static_cast<unsigned>(severity)];
}

std::string_view name_of(Kind kind)
{
    return kKindNames[static_cast<unsigned>(kind)];
}

std::string_view name_of(Decides decides)
{
    return kDecidesNames[static_cast<unsigned>(decides)];
}

std::optional<Severity> severity_named(std::string_view name)
{
    return named<Severity>(kSeverityNames, name);
}

std::optional<Decides> decides_named(std::string_view name)
{
    return named<Decides>(kDecidesNames, name);
}

Decides with_stores(Decides neither, bool absent, bool present)
{
    if (absent || present)
        return !absent ? Decides::present : !present ? Decides::absent : Decides::order;
    return neither == Decides::neither ? neither : Decides::unknown;
}

const Place *place_of(const Finding &finding, std::string_view role)
{
    const auto found = std::find_if(finding.places.begin(), finding.places.end(),
                                    [&](const Place &place) { return place.role == role; });
    return found == finding.places.end() ? nullptr : &*found;
}

bool has_new(std::span<const Finding> findings, std::span<const Severity> severities)
{
    return std::any_of(findings.begin(), findings.end(), [&](const Finding &finding) {
        return !finding.known && finding.part_of.empty() &&
               std::find(severities.begin(), severities.end(), finding.severity) !=
                   severities.end();
    });
}

} // namespace fencepost::findings
