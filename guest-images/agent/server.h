// SPDX-License-Identifier: GPL-2.0-or-later
// The server process of the agent: takes requests one at a time and answers each.
#pragma once

namespace fencepost::agent {

// Returns when `channel`, a stream socket, is closed or a power_off has been answered. Changes
// the process's signal mask, umask and subreaper flag: run it in a process of its own.
void serve(int channel);

} // namespace fencepost::agent
