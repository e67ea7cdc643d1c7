// SPDX-License-Identifier: GPL-2.0-or-later
// One finding as the page's template has it.
#pragma once

#include <string>
#include <string_view>

#include <kainjow/mustache.hpp>

#include "analyzer/report/run_report.h"

namespace fencepost::report {

kainjow::mustache::data finding_data(const ShownFinding &shown);

// Of the code to look at first.
std::string module_of(const findings::Finding &finding);
// As a value that a filter compares; never empty.
std::string module_key(const std::string &module);

// Without control characters; the template escapes what HTML takes for more.
std::string safe_text(std::string_view text);
// Likewise, line by line.
std::string safe_lines(std::string_view text);

} // namespace fencepost::report
