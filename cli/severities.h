// SPDX-License-Identifier: GPL-2.0-or-later
// Severities of findings as a user lists them.
#pragma once

#include <string>
#include <vector>

#include "analyzer/findings/finding.h"

namespace fencepost::cli {

inline constexpr char kFailOnHelp[] =
    "Severities that make the exit status 1, joined by commas: bug, warning, performance; or none";

// What is no list of severities is an Error(usage).
std::vector<findings::Severity> severities(const std::string &option, const std::string &list);
// Likewise, of `--fail-on`, which may be none.
std::vector<findings::Severity> fail_on(const std::string &list);

} // namespace fencepost::cli
