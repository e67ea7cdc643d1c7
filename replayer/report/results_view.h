// SPDX-License-Identifier: GPL-2.0-or-later
// What tests of a run have said so far, read and left as it is, also beside a test that goes on.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/findings/finding.h"
#include "analyzer/report/run_report.h"
#include "analyzer/symbols/code_names.h"
#include "replayer/run/run_directory.h"
#include "trace/reader.h"

namespace fencepost::collect {

// States whose power failure is before the same event, with a verdict.
struct CrashPointCount {
    std::uint64_t seq = 0;
    std::uint64_t tested = 0;
    std::uint64_t failing = 0;
};

struct ResultsView {
    bool has_promise = false; // that some oracle held against the file system
    report::TestOutcome outcome = {};
    std::vector<findings::Finding> findings = {};   // as results.db has them, with names of code
    std::vector<CrashPointCount> crash_points = {}; // by seq
};

// A run without results has none. What is wrong with a file that is there is an Error.
ResultsView read_results(const run::RunFiles &files, const trace::TraceReader &reader,
                         const symbols::CodeNames &names);

} // namespace fencepost::collect
