// SPDX-License-Identifier: GPL-2.0-or-later
// A guest brought to where somebody wants to look around in it: before recovery, or after.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "replayer/test/judged_state.h"

namespace fencepost::test {

enum class Moment { before_recovery, after_recovery };

struct RecoveredGuest {
    std::unique_ptr<guest::Guest> guest;
    std::string directory = "/"; // where the file system is mounted, if it is
};

// What a judge would do up to its look at the tree: the workload's files, mount, recovery command.
// `say` is told how each ended. What fails leaves the guest as it is then; a guest that is lost is
// a GuestLost.
std::string recover(guest::Guest &guest, const oracle::GuestWork &work,
                    const std::function<void(const std::string &line)> &say);

RecoveredGuest recovered_guest(JudgedState &state, Moment moment,
                               const std::function<void(const std::string &line)> &say);

// "exit status 1", "killed by signal 11"
std::string describe_end(const agent::RunReply &reply);

} // namespace fencepost::test
