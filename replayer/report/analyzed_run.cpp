// SPDX-License-Identifier: GPL-2.0-or-later
// See analyzed_run.h.
#include "replayer/report/analyzed_run.h"

#include <utility>

#include "replayer/report/results_view.h"
#include "replayer/run/inputs.h"

namespace fencepost::collect {

rules::RuleFiles rule_files(const run::AnalyzeSpec &spec)
{
    return rules::rule_files(spec.transactions, spec.order, spec.suppressions);
}

rules::RuleFiles rule_files(const std::filesystem::path &trace, const RuleFileNames &more)
{
    rules::RuleFiles files = rule_files(run::load_analyze({trace.parent_path()}));
    for (const std::string &file : more.transactions)
        files.add_transactions(file);
    for (const std::string &file : more.order)
        files.add_order(file);
    for (const std::string &file : more.suppressions)
        files.add_suppressions(file);
    return files;
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
