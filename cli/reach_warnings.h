// SPDX-License-Identifier: GPL-2.0-or-later
// What verbs say, and exit with, when a workload did not reach PM.
#pragma once

#include "replayer/run/run_directory.h"

namespace fencepost::cli {

inline constexpr int kNoPass = 5;

void print_warnings(const run::RunFiles &files);
// 5 instead of 0 when the workload did not reach PM: that is no pass.
int with_reach(int exit_code, const run::RunFiles &files);

} // namespace fencepost::cli
