// SPDX-License-Identifier: GPL-2.0-or-later
// The judge of a recorded run, with all that its oracles need to know about the workload.
#pragma once

#include <memory>

#include "replayer/oracle/image_judge.h"

namespace fencepost::test {

// Observes the workload where an oracle compares trees, unless an earlier test has left what it saw
// in the run directory. `settings.observe` is set here.
std::unique_ptr<oracle::Judge> make_run_judge(oracle::JudgeSettings settings);

} // namespace fencepost::test
