// SPDX-License-Identifier: GPL-2.0-or-later
// Texts of the markers `note` that the agent leaves before each step of a recorded job.
#pragma once

namespace fencepost::agent {

inline constexpr const char *kWorkloadNote = "step: workload";
inline constexpr const char *kMountNote = "step: mount";
inline constexpr const char *kUnmountNote = "step: unmount";

} // namespace fencepost::agent
