// SPDX-License-Identifier: GPL-2.0-or-later
// Interrupts in a process that belongs to somebody else: caught while one of our calls goes on, and
// passed on.
#include "base/interrupt.h"

#include <csignal>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/time_limit.h"

namespace fencepost {
namespace {

using std::chrono::milliseconds;

volatile std::sig_atomic_t heard = 0;

void hear(int)
{
    heard = heard + 1;
}

bool is_interrupted(milliseconds span = milliseconds(0))
{
    try {
        wait_or_interrupt(span);
    } catch (const Error &error) {
        return error.kind() == ErrorKind::interrupted;
    }
    return false;
}

TEST(InterruptScope, StopsOursAndGoesOn)
{
    heard = 0;
    std::signal(SIGINT, hear);
    {
        const InterruptScope scope;
        std::raise(SIGINT);
        EXPECT_TRUE(is_interrupted());
        EXPECT_EQ(heard, 1);
    }
    std::raise(SIGINT); // the one that was there has it back, and nothing is caught
    EXPECT_EQ(heard, 2);
    const InterruptScope next;
    EXPECT_FALSE(is_interrupted());
}

TEST(InterruptScope, EndsWithTheLast)
{
    heard = 0;
    std::signal(SIGINT, hear);
    const InterruptScope outer;
    {
        const InterruptScope inner;
        std::raise(SIGINT);
    }
    EXPECT_TRUE(is_interrupted()); // the outer call stops as well
    EXPECT_EQ(heard, 1);
}

TEST(InterruptScope, LeavesAHandlerThatWasSetMeanwhile)
{
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGINT, hear);
    {
        const InterruptScope scope;
        std::signal(SIGINT, SIG_IGN);
    }
    EXPECT_EQ(std::signal(SIGINT, SIG_DFL), SIG_IGN);
}

TEST(InterruptScope, IgnoredStaysIgnored)
{
    std::signal(SIGINT, SIG_IGN);
    {
        const InterruptScope scope;
        std::raise(SIGINT);
        EXPECT_FALSE(is_interrupted());
    }
    EXPECT_EQ(std::signal(SIGINT, SIG_DFL), SIG_IGN);
}

TEST(InterruptScope, WakesWaitingThreads)
{
    const InterruptScope scope;
    bool woken = false;
    std::thread waits([&] { woken = is_interrupted(milliseconds(60'000)); });
    interrupt();
    waits.join();
    EXPECT_TRUE(woken);
}

// What a child process stops, its parent goes on with.
TEST(InterruptScope, AForkIsAnotherProcess)
{
    {
        const InterruptScope makes_the_descriptor;
    }
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    const InterruptScope scope;
    if (child == 0) {
        interrupt();
        _exit(is_interrupted() ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_FALSE(is_interrupted());
}

TEST(TimeLimit, EndsWaitsAndIsForgotten)
{
    {
        const TimeLimit limit(Deadline::after(milliseconds(30)));
        EXPECT_TRUE(is_interrupted(milliseconds(60'000)));
        EXPECT_TRUE(limit.reached());
    }
    EXPECT_FALSE(is_interrupted());
    {
        const TimeLimit limit(Deadline::after(milliseconds(600'000)));
        const TimeLimit none(Deadline::never());
        EXPECT_FALSE(is_interrupted());
        EXPECT_FALSE(limit.reached());
    }
    EXPECT_FALSE(is_interrupted());
}

TEST(TimeLimit, TheOuterOneGoesOn)
{
    const TimeLimit outer(Deadline::after(milliseconds(30)));
    {
        const TimeLimit inner(Deadline::after(milliseconds(1)));
        while (!outer.reached() || !inner.reached())
            std::this_thread::yield();
    }
    EXPECT_TRUE(is_interrupted());
    EXPECT_TRUE(outer.reached());
}

TEST(TimeLimit, ASignalIsNotTheLimits)
{
    std::signal(SIGINT, hear);
    {
        const InterruptScope scope;
        {
            const TimeLimit limit(Deadline::after(milliseconds(1)));
            while (!limit.reached())
                std::this_thread::yield();
            std::raise(SIGINT);
            EXPECT_FALSE(limit.reached());
        }
        EXPECT_TRUE(is_interrupted());
    }
    const InterruptScope next;
    EXPECT_FALSE(is_interrupted());
}

} // namespace
} // namespace fencepost
