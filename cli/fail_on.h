// SPDX-License-Identifier: GPL-2.0-or-later
// `--fail-on`: findings of which severities make the exit status 1.
#pragma once

#include <string>
#include <vector>

#include "analyzer/findings/finding.h"

namespace fencepost::cli {

inline constexpr char kFailOnHelp[] =
    "Severities that make the exit status 1, joined by commas: bug, warning, performance; or none";

// What is no list of severities is an Error(usage).
std::vector<findings::Severity> fail_on(const std::string &list);

} // namespace fencepost::cli
