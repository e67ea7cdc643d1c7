// SPDX-License-Identifier: GPL-2.0-or-later
// Reads a run and what was found in it into one report.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "analyzer/findings/report.h"
#include "analyzer/report/run_report.h"
#include "replayer/report/shown_findings.h"

namespace fencepost::collect {

// `rules`: what rules say about the trace. `say`: progress. Memory grows with epochs and findings,
// not with the trace. Changes nothing in the run but
// annotations.json of findings.
report::RunReport collect_report(const OpenedRun &run, findings::Report rules,
                                 const std::function<void(const std::string &line)> &say);

// The page and its data, in the run; the names of both files.
std::vector<std::string> write_page(const run::RunFiles &files, const report::RunReport &report,
                                    const std::string &page);

} // namespace fencepost::collect
