// SPDX-License-Identifier: GPL-2.0-or-later
// What a run's page hands to its scripts.
#pragma once

#include <string>

#include "analyzer/report/run_report.h"

namespace fencepost::report {

// A JSON document that may stand in a script element.
std::string script_data(const RunReport &report);
// Pictures of epochs, one a line, likewise.
std::string script_pictures(const RunReport &report);

} // namespace fencepost::report
