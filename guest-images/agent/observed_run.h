// SPDX-License-Identifier: GPL-2.0-or-later
// Runs a program and everything it starts under ptrace, and notes the tree after each system call
// that may have changed it.
#pragma once

#include <string>
#include <vector>

#include "guest-images/agent/observer.h"

namespace fencepost::agent {

// In a process of its own: what the program starts becomes this process's to wait for. The
// program's exit status, or 128 + the signal that ended it.
int run_observed(const std::vector<std::string> &argv, Observer &observer);

} // namespace fencepost::agent
