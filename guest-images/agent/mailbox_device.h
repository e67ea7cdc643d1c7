// SPDX-License-Identifier: GPL-2.0-or-later
// The guest's side of the mailbox's hardware: the shared memory, and the port that stops the guest.
#pragma once

#include <optional>

#include "guest-images/agent/mailbox.h"

namespace fencepost::agent {

// Nothing, with a line in the kernel log, if the machine has none.
std::optional<Mailbox> find_mailbox();

// The machine stands still when this has been called, and goes on behind it when the host says so.
void stop_machine();

// CPUs other than the first are taken out, and put back. With one CPU left, the instruction that
// stops the machine is the last one that runs. False: the kernel would not.
bool keep_one_cpu();
bool restore_cpus();

// Where there are several CPUs: a process that keeps the first one from ever being idle, at the
// lowest priority. When all CPUs sleep, QEMU's main thread moves the clock and wakes them, a little
// sooner or later; with one CPU that makes no difference, with several it changes whose turn it is.
void keep_awake();

} // namespace fencepost::agent
