// SPDX-License-Identifier: GPL-2.0-or-later
// See filter.h.
#include "analyzer/findings/filter.h"

#include <algorithm>

namespace fencepost::findings {

namespace {

// Compilers make insert.part.0 of insert.
std::string_view plain(std::string_view name)
{
    return name.substr(0, name.find_first_of(".+"));
}

bool is_in_function(const Place &place, const std::string &function)
{
    const auto named = [&](const symbols::CodePlace &code) {
        return code.function == function || plain(code.function) == plain(function);
    };
    return named(place.at.code) ||
           std::any_of(place.at.callers.begin(), place.at.callers.end(), named);
}

bool is_in_module(const Place &place, const std::string &module)
{
    const std::string &path = place.at.code.module;
    return path == module || path.substr(path.rfind('/') + 1) == module;
}

} // namespace

bool Filter::fits(const Finding &finding) const
{
    const auto any_place = [&](auto &&wanted) {
        return std::any_of(finding.places.begin(), finding.places.end(), wanted);
    };
    return (severities.empty() || std::find(severities.begin(), severities.end(),
                                            finding.severity) != severities.end()) &&
           (function.empty() ||
            any_place([&](const Place &place) { return is_in_function(place, function); })) &&
           (module.empty() ||
            any_place([&](const Place &place) { return is_in_module(place, module); }));
}

std::string apply(const Filter &filter, std::vector<Finding> &findings)
{
    if (filter.empty())
        return "";
    const std::size_t all = findings.size();
    std::erase_if(findings, [&](const Finding &each) { return !filter.fits(each); });
    std::string by;
    for (const auto &[given, name] : {std::pair(!filter.severities.empty(), "--severity"),
                                      std::pair(!filter.function.empty(), "--function"),
                                      std::pair(!filter.module.empty(), "--module")})
        if (given)
            by += (by.empty() ? "" : ", ") + std::string(name);
    return std::to_string(findings.size()) + " of " + std::to_string(all) + " findings shown, " +
           std::to_string(all - findings.size()) + " left out by " + by;
}

} // namespace fencepost::findings
