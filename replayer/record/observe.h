// SPDX-License-Identifier: GPL-2.0-or-later
// Runs a recorded workload again, untraced, with a dump of the tree after each operation.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "replayer/run/inputs.h"
#include "replayer/run/observations.h"
#include "replayer/run/run_directory.h"

namespace fencepost::record {

// Kept in the run directory: the second call reads what the first one found, as long as trace,
// guest image and agent are the same. `file_system`: on a fresh ext4 or xfs instead of the run's
// own file system; empty: on its own. The run must have a mount.
run::Observations observe_workload(const run::RunFiles &run, const run::Inputs &inputs,
                                   const std::filesystem::path &cache,
                                   const std::function<void(const std::string &line)> &progress,
                                   const std::string &file_system = "");

} // namespace fencepost::record
