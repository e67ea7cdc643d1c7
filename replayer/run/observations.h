// SPDX-License-Identifier: GPL-2.0-or-later
// What a workload did to its file system, seen without a crash: the trees that crash images are
// compared with.
#pragma once

#include <vector>

#include "guest-images/agent/observation.h"

namespace fencepost::run {

// Two runs of the same workload at different times: what they do not agree on (times, random names)
// is nobody's promise.
struct Observations {
    std::vector<agent::Observation> first;
    std::vector<agent::Observation> second;
};

} // namespace fencepost::run
