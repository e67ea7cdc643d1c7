// SPDX-License-Identifier: GPL-2.0-or-later
// What rules say about a run, with the files for rules that its spec names.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "analyzer/findings/report.h"
#include "analyzer/report/run_report.h"
#include "analyzer/rules/analysis.h"
#include "replayer/report/shown_findings.h"
#include "replayer/run/run_directory.h"
#include "replayer/run/spec.h"

namespace fencepost::collect {

// Of a spec that was read. Mistakes in the files are told.
rules::RuleFiles rule_files(const run::AnalyzeSpec &spec);
// Files for rules beside those of the spec.
struct RuleFileNames {
    std::vector<std::string> transactions = {};
    std::vector<std::string> order = {};
    std::vector<std::string> suppressions = {};
};
// Those of the spec of the run that the trace is in, and more.
rules::RuleFiles rule_files(const std::filesystem::path &trace, const RuleFileNames &more);

// As `fencepost analyze RUN` without options.
findings::Report analyze_run(const run::RunFiles &files);

// What rules say, and what tests have found so far.
struct FoundSoFar {
    report::TestOutcome outcome;
    std::vector<findings::Finding> findings; // see all_findings()
};
FoundSoFar found_so_far(const OpenedRun &run);

} // namespace fencepost::collect
