// SPDX-License-Identifier: GPL-2.0-or-later
// What the workload itself did to the guest's kernel: a finding for which power need not fail.
#pragma once

#include <optional>
#include <string>

#include "replayer/run/run_directory.h"
#include "replayer/test/results.h"
#include "trace/records.h"

namespace fencepost::test {

inline constexpr const char *kWorkloadOracle = "workload";

// What the kernel logged, and what it only showed on the console, as far as processes did not write
// it.
std::string kernel_lines(const std::string &kernel_log, const std::string &console);

// A kernel that crashed, or a guest that never came back; nothing: neither.
std::optional<Finding> workload_finding(const run::RunFiles &run,
                                        const trace::Recording &recording);

// summary.json and console.log: what the guest said.
void write_workload_finding(const run::RunFiles &run, const Finding &finding);

} // namespace fencepost::test
