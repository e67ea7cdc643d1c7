// SPDX-License-Identifier: GPL-2.0-or-later
// The judge of a run's crash images: asks the oracles that the run's spec, or its user, chose.
#pragma once

#include <memory>

#include "replayer/oracle/judge.h"
#include "replayer/oracle/judge_settings.h"

namespace fencepost::oracle {

// May take a while: what the oracles need to know about the workload is observed first.
std::unique_ptr<Judge> make_judge(const JudgeSettings &settings);

} // namespace fencepost::oracle
