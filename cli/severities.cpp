// SPDX-License-Identifier: GPL-2.0-or-later
// See severities.h.
#include "cli/severities.h"

#include <sstream>

#include "base/error.h"

namespace fencepost::cli {

namespace {

std::vector<findings::Severity> parse(const std::string &option, const std::string &list,
                                      const char *also)
{
    std::vector<findings::Severity> result;
    std::istringstream words(list);
    for (std::string word; std::getline(words, word, ',');) {
        if (*also && word == "none")
            fail(ErrorKind::usage, "{} none goes with no other severity, as in '{}'", option, list);
        const auto severity = findings::severity_named(word);
        if (!severity)
            fail(ErrorKind::usage,
                 "there is no severity '{}'; there are bug, warning, performance{}", word, also);
        result.push_back(*severity);
    }
    if (result.empty())
        fail(ErrorKind::usage, "{} is given no severity; there are bug, warning, performance{}",
             option, also);
    return result;
}

} // namespace

std::vector<findings::Severity> severities(const std::string &option, const std::string &list)
{
    return parse(option, list, "");
}

std::vector<findings::Severity> fail_on(const std::string &list)
{
    if (list == "none")
        return {};
    return parse("--fail-on", list, ", and none");
}

} // namespace fencepost::cli
