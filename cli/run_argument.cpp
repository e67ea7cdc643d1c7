// SPDX-License-Identifier: GPL-2.0-or-later
// See run_argument.h.
#include "cli/run_argument.h"

#include "base/error.h"

namespace fencepost::cli {

namespace fs = std::filesystem;

fs::path trace_of(const fs::path &run)
{
    std::error_code ignored;
    if (!fs::exists(run, ignored))
        fail(ErrorKind::usage, "there is no run {}", run.string());
    if (!fs::is_directory(run, ignored))
        return run;
    fs::path trace = run / "trace.db";
    if (!fs::exists(trace, ignored))
        fail(ErrorKind::usage, "{} is not a run: it has no trace.db", run.string());
    return trace;
}

} // namespace fencepost::cli
