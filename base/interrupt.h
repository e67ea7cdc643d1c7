// SPDX-License-Identifier: GPL-2.0-or-later
// SIGINT and SIGTERM as an exception in whoever waits, so that destructors clean up.
#pragma once

#include <chrono>

namespace fencepost {

// Once, early in main().
void catch_interrupts();

// For a library in someone else's process: SIGINT is caught while one of these lives, and goes on
// to the handler that was there before. Where the process ignores it, or ends with it, that stays.
// What came is forgotten when the last of them ends.
class InterruptScope {
public:
    InterruptScope();
    ~InterruptScope();
    InterruptScope(const InterruptScope &) = delete;
    InterruptScope &operator=(const InterruptScope &) = delete;
};

// As if a signal had come: stops all work that goes on in this process.
void interrupt();

// Readable once a signal has come; -1 when interrupts are not caught. For poll(2).
int interrupt_fd();

// Throws Error(interrupted) if a signal has come.
void throw_if_interrupted();

void wait_or_interrupt(std::chrono::milliseconds span);

} // namespace fencepost
