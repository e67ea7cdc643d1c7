// SPDX-License-Identifier: GPL-2.0-or-later
// The agent of a recording guest: stops itself when it is ready to be frozen, and when it resumes
// does what the mailbox says. Every stop is at an instruction of its own, so recordings repeat.
#pragma once

#include "guest-images/agent/protocol.h"

namespace fencepost::agent {

// `hello` describes the booted guest. Never returns: the host ends the machine.
[[noreturn]] void run_recording_guest(const Hello &hello);

} // namespace fencepost::agent
