// SPDX-License-Identifier: GPL-2.0-or-later
// `fencepost analyze` for other verbs.
#pragma once

#include "analyzer/findings/report.h"
#include "replayer/run/run_directory.h"
#include "replayer/run/spec.h"

namespace fencepost::cli {

// Mistakes in the files for rules that a spec names.
void check_rule_files(const run::AnalyzeSpec &spec);
// As `fencepost analyze RUN` without options.
findings::Report analyze_run(const run::RunFiles &files);

} // namespace fencepost::cli
