// SPDX-License-Identifier: GPL-2.0-or-later
// Findings as JSON: docs/reference/findings.schema.json says what each key is.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "analyzer/findings/report.h"

namespace fencepost::report {

nlohmann::json to_json(const findings::Finding &finding);
nlohmann::json to_json(const findings::Report &report);

} // namespace fencepost::report
