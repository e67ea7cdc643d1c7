// SPDX-License-Identifier: GPL-2.0-or-later
// See fail_on.h.
#include "cli/fail_on.h"

#include <sstream>

#include "base/error.h"

namespace fencepost::cli {

std::vector<findings::Severity> fail_on(const std::string &list)
{
    std::vector<findings::Severity> result;
    if (list == "none")
        return result;
    std::istringstream words(list);
    for (std::string word; std::getline(words, word, ',');) {
        if (word == "none")
            fail(ErrorKind::usage, "--fail-on none goes with no other severity, as in '{}'", list);
        const auto severity = findings::severity_named(word);
        if (!severity)
            fail(ErrorKind::usage,
                 "there is no severity '{}'; there are bug, warning, performance, and none", word);
        result.push_back(*severity);
    }
    if (result.empty())
        fail(ErrorKind::usage,
             "--fail-on is given no severity; there are bug, warning, performance, and none");
    return result;
}

} // namespace fencepost::cli
