// SPDX-License-Identifier: GPL-2.0-or-later
// The handler only makes an eventfd readable; every wait of ours polls it beside its own work.
// Another signal, once there was time to clean up, ends the process at once: guests die with it
// (PR_SET_PDEATHSIG). At the same moment it is the same wish: timeout(1) sends two.
#include "base/interrupt.h"

#include <csignal>
#include <cstdint>
#include <ctime>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/error.h"

namespace fencepost {

namespace {

// A signal handler can reach nothing but a global.
int pending_fd = -1;
volatile std::sig_atomic_t first_signal = 0; // seconds of the monotonic clock
constexpr std::sig_atomic_t kPatience = 3;   // seconds

void on_signal(int number)
{
    timespec now = {};
    clock_gettime(CLOCK_MONOTONIC, &now);
    const auto seconds = static_cast<std::sig_atomic_t>(now.tv_sec % 1000000 + 1);
    if (first_signal == 0)
        first_signal = seconds;
    else if (seconds - first_signal >= kPatience) {
        signal(number, SIG_DFL);
        raise(number);
    }
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t ignored = write(pending_fd, &one, sizeof one);
}

} // namespace

void catch_interrupts()
{
    pending_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (pending_fd < 0)
        fail_errno("cannot make an eventfd");
    struct sigaction action = {};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    for (int signal_number : {SIGINT, SIGTERM, SIGHUP})
        sigaction(signal_number, &action, nullptr);
    signal(SIGPIPE, SIG_IGN);
}

int interrupt_fd()
{
    return pending_fd;
}

void throw_if_interrupted()
{
    wait_or_interrupt(std::chrono::milliseconds(0));
}

void wait_or_interrupt(std::chrono::milliseconds span)
{
    pollfd waited = {pending_fd, POLLIN, 0}; // a negative fd is ignored by poll
    if (poll(&waited, 1, static_cast<int>(span.count())) > 0)
        fail(ErrorKind::interrupted, "interrupted");
}

} // namespace fencepost
