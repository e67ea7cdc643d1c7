// SPDX-License-Identifier: GPL-2.0-or-later
// A run's report as JSON: docs/reference/report.md says what each key is.
#pragma once

#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "analyzer/report/run_report.h"

namespace fencepost::report {

nlohmann::json to_json(const ShownFinding &shown);
nlohmann::json to_json(const TestOutcome &outcome);
nlohmann::json to_json(const RunReport &report);
// The list of `fencepost show`.
nlohmann::json list_json(const std::vector<findings::Finding> &findings,
                         const TestOutcome &outcome);

} // namespace fencepost::report
