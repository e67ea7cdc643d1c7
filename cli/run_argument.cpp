// SPDX-License-Identifier: GPL-2.0-or-later
// See run_argument.h.
#include "cli/run_argument.h"

#include "replayer/record/run_directory.h"

namespace fencepost::cli {

std::filesystem::path trace_of(const std::filesystem::path &run)
{
    return record::trace_of(run);
}

} // namespace fencepost::cli
