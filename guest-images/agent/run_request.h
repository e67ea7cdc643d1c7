// SPDX-License-Identifier: GPL-2.0-or-later
// Running a command for the host, to its end or its time limit.
#pragma once

#include <functional>

#include "guest-images/agent/outcome.h"

namespace fencepost::agent {

// The command has ended when its first process has: what that leaves running keeps running, but
// its output is no longer collected. At the time limit the first process and all its descendants
// are killed. The caller must have blocked SIGCHLD, ignore SIGPIPE and be a child subreaper.
Outcome<RunReply> run_command(const RunRequest &request);

// The same, but what the command leaves running is killed as at the time limit.
Outcome<RunReply> run_and_clear(const RunRequest &request);

// The same with a function of ours instead of a program; what it returns is the exit status.
Outcome<RunReply> run_in_child(const RunRequest &limits, const std::function<int()> &body);

} // namespace fencepost::agent
