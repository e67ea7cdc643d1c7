// SPDX-License-Identifier: GPL-2.0-or-later
// One walk over a trace: its epochs, how much of each was tested, and a picture of each.
#pragma once

#include <span>

#include "analyzer/report/run_report.h"
#include "analyzer/symbols/code_names.h"
#include "replayer/report/results_view.h"
#include "replayer/states/state_walk.h"
#include "trace/reader.h"

namespace fencepost::collect {

// Fills what a report has about epochs. `options` without strategies; `report.operations` is there
// already.
void add_epochs(const trace::TraceReader &reader, const symbols::CodeNames &names,
                const states::WalkOptions &options, std::span<const CrashPointCount> crash_points,
                report::RunReport &report);

} // namespace fencepost::collect
