// SPDX-License-Identifier: GPL-2.0-or-later
// Scratch directories: in use while their process lives, swept once it is gone, however it went.
#include "base/scratch.h"
#include "replayer/guest/scratch_sweep.h"

#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace fencepost::guest {
namespace {

namespace fs = std::filesystem;

TEST(Scratch, VanishesWithItsOwner)
{
    const TemporaryDirectory cache("/tmp", "fp-scratch-");
    fs::path path;
    {
        const ScratchDirectory scratch(cache.path());
        path = scratch.path();
        write_file(path / "file", "x");
        EXPECT_EQ(sweep_scratch(cache.path()).directories, 0); // ours is in use
        EXPECT_TRUE(fs::exists(path / "file"));
    }
    EXPECT_FALSE(fs::exists(path));
}

TEST(Scratch, OfAKilledProcessIsSwept)
{
    const TemporaryDirectory cache("/tmp", "fp-scratch-");
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    const pid_t child = fork();
    if (child == 0) {
        const ScratchDirectory scratch(cache.path());
        write_file(scratch.path() / "pm0", "x");
        [[maybe_unused]] const ssize_t sent = write(ready[1], "x", 1);
        pause();
        _exit(0);
    }
    char byte;
    ASSERT_EQ(read(ready[0], &byte, 1), 1);
    EXPECT_EQ(sweep_scratch(cache.path()).directories, 0); // it lives
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    EXPECT_EQ(sweep_scratch(cache.path()).directories, 1);
    for (const fs::directory_entry &entry : fs::directory_iterator(cache.path() / "scratch"))
        EXPECT_EQ(entry.path().filename(), "lock");
}

} // namespace
} // namespace fencepost::guest
