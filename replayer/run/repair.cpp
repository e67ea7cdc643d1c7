// SPDX-License-Identifier: GPL-2.0-or-later
// See repair.h.
#include "replayer/run/repair.h"

#include "replayer/run/run_directory.h"
#include "trace/journal.h"
#include "trace/reader.h"

namespace fencepost::run {

namespace fs = std::filesystem;

std::vector<fs::path> repair(const fs::path &run)
{
    const fs::path trace = trace_of(run);
    std::vector<fs::path> rolled_back;
    if (trace.filename() != RunFiles{}.trace().filename()) { // a trace by itself
        if (trace::roll_back(trace))
            rolled_back.push_back(trace);
    } else {
        const RunFiles files = open_run(trace);
        const FileLock lock = lock_run(files);
        if (trace::roll_back(files.trace()))
            rolled_back.push_back(files.trace());
        if (trace::roll_back(files.results(), trace::FileKind::test_results))
            rolled_back.push_back(files.results());
    }
    const trace::TraceReader reader(trace); // refuses what is no trace
    return rolled_back;
}

} // namespace fencepost::run
