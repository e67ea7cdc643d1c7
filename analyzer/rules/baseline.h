// SPDX-License-Identifier: GPL-2.0-or-later
// Findings that are known already: a run in CI fails for new ones only.
#pragma once

#include <filesystem>

#include "analyzer/findings/rule_finding.h"
#include "base/output_file.h"

namespace fencepost::rules {

// Marks the findings of `file` as known and says which of them are gone. A file that is no baseline
// is an Error(usage).
void apply_baseline(const std::filesystem::path &file, findings::RuleReport &report);
void write_baseline(const std::filesystem::path &file, const findings::RuleReport &report,
                    Overwrite overwrite);

} // namespace fencepost::rules
