// SPDX-License-Identifier: GPL-2.0-or-later
// What the trial of a recovered file system says about its image: what could not be done, and what
// stays in use when everything was removed.
#pragma once

#include <vector>

#include "replayer/guest/agent_client.h"
#include "replayer/oracle/judge.h"

namespace fencepost::oracle {

// From the least to the most that images without a crash use when they are empty.
agent::SpaceRange space_range(const std::vector<agent::SpaceUse> &healthy);

// `problems`: those of the reply that count. Empty: all is well.
std::vector<Evidence> usable_evidence(const guest::JudgeReply &reply,
                                      const std::vector<agent::UsableProblem> &problems,
                                      const agent::SpaceRange &healthy);

} // namespace fencepost::oracle
