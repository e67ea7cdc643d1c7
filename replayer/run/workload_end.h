// SPDX-License-Identifier: GPL-2.0-or-later
// How a recorded workload ended.
#pragma once

namespace fencepost::run {

// How the workload ended. All but the last leave a trace of everything up to there.
enum class WorkloadEnd {
    finished,  // with success
    failed,    // exit status, signal, or a step before it
    timed_out, // guest time was over, the agent ended it
    hung,      // the host's time was over
    panicked,
    powered_off,
    rebooted,
};

const char *to_string(WorkloadEnd end);

} // namespace fencepost::run
