// SPDX-License-Identifier: GPL-2.0-or-later
// Findings as SARIF 2.1.0, for code hosts and editors.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "analyzer/findings/report.h"

namespace fencepost::report {

nlohmann::json to_sarif(const findings::Report &report);

} // namespace fencepost::report
