// SPDX-License-Identifier: GPL-2.0-or-later
// Which functions of kernel modules a recording has seen, and which not: what a workload does not
// reach is not tested.
#pragma once

#include <vector>

#include "analyzer/report/run_report.h"
#include "replayer/report/shown_findings.h"

namespace fencepost::collect {

// Of the modules whose code caused events or called what did, those with the most functions seen
// first. Nothing where the run has no list of the kernel's functions.
std::vector<report::ModuleCoverage> module_coverage(const OpenedRun &run);

} // namespace fencepost::collect
