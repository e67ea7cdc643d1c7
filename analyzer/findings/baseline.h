// SPDX-License-Identifier: GPL-2.0-or-later
// Findings that are known already: a run in CI fails for new ones only.
#pragma once

#include <filesystem>

#include "analyzer/findings/report.h"
#include "base/output_file.h"

namespace fencepost::findings {

// Marks the findings of `file` as known and says which of them are gone. A file that is no baseline
// is an Error(usage).
void apply_baseline(const std::filesystem::path &file, Report &report);
void write_baseline(const std::filesystem::path &file, const Report &report, Overwrite overwrite);

} // namespace fencepost::findings
