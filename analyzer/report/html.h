// SPDX-License-Identifier: GPL-2.0-or-later
// A run's report as one HTML page that needs nothing else: no network, no other file.
#pragma once

#include <string>

#include "analyzer/report/run_report.h"

namespace fencepost::report {

// All texts are escaped, and made safe as for a terminal (base/terminal_text.h).
std::string to_html(const RunReport &report);

} // namespace fencepost::report
