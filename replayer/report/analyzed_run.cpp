// SPDX-License-Identifier: GPL-2.0-or-later
// See analyzed_run.h.
#include "replayer/report/analyzed_run.h"

#include <utility>

#include "replayer/report/results_view.h"

namespace fencepost::collect {

rules::RuleFiles rule_files(const run::AnalyzeSpec &spec)
{
    return rules::rule_files(spec.transactions, spec.order, spec.suppressions);
}

findings::Report analyze_run(const run::RunFiles &files)
{
    return rules::analyze(files.trace(), {.files = rule_files(run::load_analyze(files))});
}

FoundSoFar found_so_far(const OpenedRun &run)
{
    ResultsView results = read_results(run.files(), run.reader(), run.names());
    return {std::move(results.outcome),
            all_findings(analyze_run(run.files()).findings, std::move(results.findings))};
}

} // namespace fencepost::collect
