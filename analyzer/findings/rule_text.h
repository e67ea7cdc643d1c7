// SPDX-License-Identifier: GPL-2.0-or-later
// A report of the rules as lines of text, grouped by function.
#pragma once

#include <string>
#include <vector>

#include "analyzer/findings/rule_finding.h"

namespace fencepost::findings {

// The text comes from a guest: make it safe before it goes to a terminal.
std::vector<std::string> text_lines(const RuleReport &report);

} // namespace fencepost::findings
