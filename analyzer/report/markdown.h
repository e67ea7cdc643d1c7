// SPDX-License-Identifier: GPL-2.0-or-later
// A run's report as Markdown, short enough for a pull request.
#pragma once

#include <string>

#include "analyzer/report/run_report.h"

namespace fencepost::report {

std::string to_markdown(const RunReport &report);

} // namespace fencepost::report
