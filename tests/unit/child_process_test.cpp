// SPDX-License-Identifier: GPL-2.0-or-later
// Children: output kept apart, deadlines, missing programs, descriptors and the end of the parent.
#include "base/child_process.h"

#include <csignal>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/error.h"

namespace fencepost {
namespace {

TEST(RunCommand, KeepsOutputAndErrorsApart)
{
    const CommandResult result = run_command({"sh", "-c", "echo out; echo err >&2; exit 3"});
    EXPECT_EQ(result.output, "out\n");
    EXPECT_EQ(result.errors, "err\n");
    EXPECT_EQ(result.end.code, 3);
    EXPECT_FALSE(result.success());
    EXPECT_EQ(result.last_words(), "err");
}

TEST(RunCommand, StopsAtTheDeadline)
{
    const Stopwatch watch;
    const CommandResult result =
        run_command({"sh", "-c", "echo before; exec tail -f /dev/null"},
                    {.deadline = Deadline::after(std::chrono::milliseconds(200))});
    EXPECT_TRUE(result.timed_out);
    EXPECT_FALSE(result.success());
    EXPECT_EQ(result.output, "before\n");
    EXPECT_LT(watch.seconds(), 20);
}

TEST(RunCommand, NamesAProgramThatIsNotThere)
{
    try {
        run_command({"no-such-program-anywhere"});
        FAIL() << "started";
    } catch (const Error &error) {
        EXPECT_EQ(error.kind(), ErrorKind::io);
        EXPECT_NE(std::string(error.what()).find("no-such-program-anywhere"), std::string::npos);
    }
}

TEST(RunCommand, RefusesEndlessOutput)
{
    EXPECT_THROW(run_command({"yes"}, {.output_limit = 1000}), Error);
}

TEST(ChildProcess, GetsOnlyTheDescriptorsItWasGiven)
{
    const Fd unrelated = open_file("/dev/null", 0);
    const auto [read_end, write_end] = make_pipe();
    ChildProcess child({"sh", "-c", "ls /proc/self/fd | tr '\\n' ' ' >&7"},
                       {.fds = {{7, write_end.get()}}});
    ASSERT_TRUE(child.wait(Deadline::after(std::chrono::seconds(20))).has_value());
    char buffer[100] = {};
    ASSERT_GT(read(read_end.get(), buffer, sizeof buffer - 1), 0);
    EXPECT_STREQ(buffer, "0 1 2 3 7 "); // 3 is ls reading the directory
}

TEST(ChildProcess, SaysWhichSignalEndedIt)
{
    ChildProcess child({"sh", "-c", "kill -TERM $$"}, {});
    const auto end = child.wait(Deadline::after(std::chrono::seconds(20)));
    ASSERT_TRUE(end.has_value());
    EXPECT_TRUE(end->by_signal);
    EXPECT_EQ(end->code, SIGTERM);
}

TEST(ChildProcess, DiesWithTheThreadThatStartedIt)
{
    std::optional<ChildProcess> child;
    std::thread([&] {
        child.emplace(std::vector<std::string>{"tail", "-f", "/dev/null"}, SpawnOptions{});
    }).join();
    const auto end = child->wait(Deadline::after(std::chrono::seconds(20)));
    ASSERT_TRUE(end.has_value());
    EXPECT_EQ(end->code, SIGKILL);
}

} // namespace
} // namespace fencepost
