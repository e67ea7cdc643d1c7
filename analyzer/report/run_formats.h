// SPDX-License-Identifier: GPL-2.0-or-later
// A run's report in each of the formats that there are. A new one is a file here and a line in the
// table of run_formats.cpp.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/report/run_report.h"

namespace fencepost::report {

std::vector<std::string> run_format_names();

// `failures`: severities of findings that fail, where a format tells. A format that there is not is
// a mistake of ours.
std::string render(std::string_view format, const RunReport &report,
                   std::span<const findings::Severity> failures);

} // namespace fencepost::report
