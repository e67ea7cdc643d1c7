// SPDX-License-Identifier: GPL-2.0-or-later
// How long processes wait for a CPU, as the host's kernel tells.
#include "replayer/guest/run_delay.h"

#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include "base/child_process.h"
#include "base/deadline.h"

namespace fencepost::guest {
namespace {

using namespace std::chrono_literals;

TEST(RunDelay, GrowsWhereOthersHaveTheCpu)
{
    if (access("/proc/self/schedstat", R_OK) < 0)
        GTEST_SKIP() << "this kernel does not tell";
    // Children have the CPUs of who starts them.
    cpu_set_t before;
    ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    std::vector<ChildProcess> busy;
    for (int i = 0; i < 2; ++i)
        busy.emplace_back(std::vector<std::string>{"/bin/sh", "-c", "while :; do :; done"},
                          SpawnOptions());
    ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
    const Deadline deadline = Deadline::after(60s);
    while (run_delay(busy[0].end_fd()) < 100ms && !deadline.passed())
        std::this_thread::sleep_for(10ms);
    EXPECT_GE(run_delay(busy[0].end_fd()), 100ms);
}

TEST(RunDelay, IsNoneOfWhomTheKernelDoesNotKnow)
{
    EXPECT_EQ(run_delay(-1), 0ms);
}

} // namespace
} // namespace fencepost::guest
