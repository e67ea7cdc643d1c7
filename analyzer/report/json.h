// SPDX-License-Identifier: GPL-2.0-or-later
// Findings as JSON: docs/reference/findings.schema.json says what each key is.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "analyzer/findings/report.h"

namespace fencepost::report {

nlohmann::json to_json(const findings::Finding &finding);
nlohmann::json to_json(const findings::Report &report);

// A document with a line end. Texts of a guest may be no UTF-8: such bytes are replaced.
std::string text_of(const nlohmann::json &document);

} // namespace fencepost::report
