// SPDX-License-Identifier: GPL-2.0-or-later
// A guest that recovers from a crash image by itself, without a host that talks to it: what it is
// to do is in its initramfs, and what came of it is on its serial console, one line each.
#pragma once

#include "guest-images/agent/protocol.h"

namespace fencepost::agent {

// A Job (job.h) that has only files, which are written first, and the payloads of JudgeRequests,
// which are done in order: judge.0, judge.1, ...
inline constexpr const char *kStandaloneFiles = "etc/fencepost/standalone";
inline constexpr const char *kStandaloneJob = "job";
inline constexpr const char *kStandaloneRequest = "judge.";

// What every line of the agent's begins with, and the last one.
inline constexpr const char *kStandaloneMark = "fencepost: ";
inline constexpr const char *kStandaloneEnd = "the end";

// Lines about what a guest said of an image. The host looks for one of them.
std::string tree_line(const TreeDump &tree);
std::string space_line(const SpaceUse &use);
std::string command_line(const RunReply &reply);
std::string step_line(JudgeStep step); // that it has begun

// Powers the machine off in the end.
[[noreturn]] void run_standalone_guest(const Hello &hello);

} // namespace fencepost::agent
