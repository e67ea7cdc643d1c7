// SPDX-License-Identifier: GPL-2.0-or-later
// One finding with everything about it, as lines for a terminal.
#pragma once

#include <string>
#include <vector>

#include "analyzer/report/run_report.h"

namespace fencepost::report {

// The texts come from a guest: make each line safe (base/terminal_text.h) before it is printed.
std::vector<std::string> finding_lines(const ShownFinding &shown);

// What broke, in one sentence.
std::string sentence_of(const findings::Finding &finding);

} // namespace fencepost::report
