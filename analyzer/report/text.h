// SPDX-License-Identifier: GPL-2.0-or-later
// Findings as lines of text for people.
#pragma once

#include <string>
#include <vector>

#include "analyzer/findings/report.h"

namespace fencepost::report {

// The texts come from a guest: make each line safe (base/terminal_text.h) before it is printed.

// What makes the images of a finding fail: "append+0x8 (in: write a) lost, set_flag+0x4 persisted".
std::string what_decides(const findings::Finding &finding);
// One finding, indented.
std::vector<std::string> text_lines(const findings::Finding &finding);
// Grouped by function, with a summary; the last line counts the findings.
std::vector<std::string> text_lines(const findings::Report &report);

} // namespace fencepost::report
