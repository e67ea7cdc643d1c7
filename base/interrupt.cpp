// SPDX-License-Identifier: GPL-2.0-or-later
// The handler only makes an eventfd readable; every wait of ours polls it beside its own work.
// Another signal, once there was time to clean up, ends the process at once: guests die with it
// (PR_SET_PDEATHSIG). At the same moment it is the same wish: timeout(1) sends two.
#include "base/interrupt.h"

#include <atomic>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <mutex>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/error.h"
#include "base/time_limit.h"

namespace fencepost {

namespace {

// A signal handler can reach nothing but a global.
volatile int pending_fd = -1;
volatile std::sig_atomic_t first_signal = 0; // seconds of the monotonic clock
constexpr std::sig_atomic_t kPatience = 3;   // seconds
std::atomic<bool> stop_wanted = false;       // by a signal or interrupt(), not by a time limit
std::atomic<unsigned> limits_passed = 0;

static_assert(std::atomic<bool>::is_always_lock_free, "signal handlers set it");

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
    interrupt();
}

void make_readable()
{
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t ignored = write(pending_fd, &one, sizeof one);
}

void forget()
{
    std::uint64_t forgotten = 0;
    [[maybe_unused]] const ssize_t ignored = read(pending_fd, &forgotten, sizeof forgotten);
}

void make_pending_fd()
{
    const int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd < 0)
        fail_errno("cannot make an eventfd");
    pending_fd = fd;
}

// Scopes of all threads.
std::mutex scopes_mutex;
unsigned scopes = 0;
pid_t scopes_process = 0;        // a child of it has the same eventfd and needs its own
struct sigaction passed_on = {}; // whose turn it is after ours

void on_signal_in_scope(int number, siginfo_t *information, void *context)
{
    interrupt();
    if (passed_on.sa_flags & SA_SIGINFO)
        passed_on.sa_sigaction(number, information, context);
    else
        passed_on.sa_handler(number);
}

bool is_handled(const struct sigaction &action)
{
    return (action.sa_flags & SA_SIGINFO) ||
           (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
}

bool is_ours(const struct sigaction &action)
{
    return (action.sa_flags & SA_SIGINFO) && action.sa_sigaction == on_signal_in_scope;
}

} // namespace

void catch_interrupts()
{
    make_pending_fd();
    struct sigaction action = {};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    for (int signal_number : {SIGINT, SIGTERM, SIGHUP})
        sigaction(signal_number, &action, nullptr);
    signal(SIGPIPE, SIG_IGN);
}

InterruptScope::InterruptScope()
{
    const std::lock_guard lock(scopes_mutex);
    if (scopes_process != getpid()) {
        make_pending_fd();
        scopes_process = getpid();
        scopes = 0;
    }
    if (scopes++ != 0)
        return;
    struct sigaction before = {};
    sigaction(SIGINT, nullptr, &before);
    if (!is_handled(before) || is_ours(before))
        return;
    passed_on = before;
    struct sigaction action = {};
    action.sa_sigaction = on_signal_in_scope;
    action.sa_flags = SA_SIGINFO | (before.sa_flags & SA_RESTART);
    action.sa_mask = before.sa_mask;
    sigaction(SIGINT, &action, nullptr);
}

InterruptScope::~InterruptScope()
{
    const std::lock_guard lock(scopes_mutex);
    if (--scopes != 0)
        return;
    struct sigaction now = {};
    sigaction(SIGINT, nullptr, &now);
    if (is_ours(now)) // else somebody has set another one meanwhile
        sigaction(SIGINT, &passed_on, nullptr);
    stop_wanted = false;
    forget();
    if (limits_passed != 0)
        make_readable();
}

void interrupt()
{
    stop_wanted = true;
    make_readable();
}

TimeLimit::TimeLimit(Deadline deadline) : deadline_(deadline)
{
    if (deadline_.poll_timeout() < 0)
        return;
    if (pending_fd < 0)
        make_pending_fd();
    thread_ = std::thread([this] { wait(); });
}

void TimeLimit::wait()
{
    std::unique_lock lock(mutex_);
    while (!ended_ && !deadline_.passed())
        ends_.wait_for(lock, std::chrono::milliseconds(deadline_.poll_timeout()));
    if (ended_)
        return;
    passed_ = true;
    ++limits_passed;
    make_readable();
}

TimeLimit::~TimeLimit()
{
    if (!thread_.joinable())
        return;
    {
        const std::lock_guard lock(mutex_);
        ended_ = true;
    }
    ends_.notify_one();
    thread_.join();
    if (!passed_)
        return;
    --limits_passed;
    forget();
    if (stop_wanted || limits_passed != 0) // it was not this one alone
        make_readable();
}

bool TimeLimit::reached() const
{
    return passed_ && !stop_wanted;
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
