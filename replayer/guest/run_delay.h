// SPDX-License-Identifier: GPL-2.0-or-later
// How long a machine has waited for a CPU of the host: time that its guest did not have.
#pragma once

#include <chrono>

namespace fencepost::guest {

// Of the thread that has waited longest, since the process was started. `end_fd`: its pidfd. 0
// where the host's kernel does not tell.
std::chrono::milliseconds run_delay(int end_fd);

} // namespace fencepost::guest
