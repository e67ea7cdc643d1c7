// SPDX-License-Identifier: GPL-2.0-or-later
// A report in each of the formats that there are. A new one is a file here and a line in the table
// of formats.cpp.
#pragma once

#include <string>
#include <string_view>

#include "analyzer/findings/report.h"

namespace fencepost::report {

// `format`: text, json or sarif. Another one is a mistake of ours.
std::string render(std::string_view format, const findings::Report &report);

} // namespace fencepost::report
