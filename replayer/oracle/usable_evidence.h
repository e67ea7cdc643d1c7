// SPDX-License-Identifier: GPL-2.0-or-later
// What the trial of a recovered file system says about its image: what could not be done, and what
// stays in use when everything was removed.
#pragma once

#include <vector>

#include "replayer/guest/agent_client.h"
#include "replayer/oracle/judge.h"

namespace fencepost::oracle {

// What is in use on healthy images when everything was removed, learnt before the first crash
// image.
class HealthySpace {
public:
    // False: not everything could be removed, so this image says nothing.
    bool learn(const guest::JudgeReply &reply);
    const agent::SpaceRange &range() const { return range_; }

private:
    agent::SpaceRange range_;
};

// `problems`: those of the reply that count. Empty: all is well.
std::vector<Evidence> usable_evidence(const guest::JudgeReply &reply,
                                      const std::vector<agent::UsableProblem> &problems,
                                      const agent::SpaceRange &healthy);

} // namespace fencepost::oracle
