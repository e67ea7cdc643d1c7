// SPDX-License-Identifier: GPL-2.0-or-later
// SIGINT and SIGTERM as an exception in whoever waits, so that destructors clean up.
#pragma once

#include <chrono>

namespace fencepost {

// Once, early in main(). Without it (a library in someone else's process) nothing is caught.
void catch_interrupts();

// Readable once a signal has come; -1 when interrupts are not caught. For poll(2).
int interrupt_fd();

// Throws Error(interrupted) if a signal has come.
void throw_if_interrupted();

void wait_or_interrupt(std::chrono::milliseconds span);

} // namespace fencepost
