// SPDX-License-Identifier: GPL-2.0-or-later
// A report of the rules as JSON, and as SARIF 2.1.0 for code hosts and editors.
#pragma once

#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "analyzer/findings/rule_finding.h"

namespace fencepost::findings {

nlohmann::json to_json(const RuleReport &report);
// `rules`: all that there are; results refer to them.
nlohmann::json to_sarif(const RuleReport &report, const std::vector<RuleDescription> &rules);

} // namespace fencepost::findings
