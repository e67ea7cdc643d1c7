// SPDX-License-Identifier: GPL-2.0-or-later
// Processes by ancestry, from /proc: works on kernels without cgroups or pidfds.
#pragma once

#include <vector>

#include <sys/types.h>

namespace fencepost::agent {

struct ProcessEntry {
    pid_t pid = 0;
    pid_t parent = 0;
};

// Living processes and kernel threads; zombies are left out.
std::vector<ProcessEntry> list_processes();

// Children of `ancestor`, their children and so on, without `except` and what descends from them.
std::vector<pid_t> descendants_of(pid_t ancestor, const std::vector<pid_t> &except);

} // namespace fencepost::agent
