// SPDX-License-Identifier: GPL-2.0-or-later
// The agent's request handling, run unprivileged on the host: the server in a process of its own on
// a socket pair, driven by the host's client.
#include "guest-images/agent/server.h"

#include <algorithm>
#include <csignal>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/close_range.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/files.h"
#include "guest-images/agent/descendants.h"
#include "guest-images/agent/mount_requests.h"
#include "replayer/guest/agent_client.h"

namespace fencepost::agent {
namespace {

using namespace std::chrono_literals;
using guest::AgentClient;

Deadline ample()
{
    return Deadline::after(120s);
}

class AgentServer : public testing::Test {
protected:
    AgentServer()
    {
        auto [host, served] = socket_pair();
        server_ = fork();
        if (server_ == 0) {
            host.reset();
            // What this test was itself started with is not the server's.
            close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
            _exit(serve(served.get()) == ServeEnd::power_off ? kPoweredOff : 0);
        }
        client_.emplace(std::move(host));
    }
    ~AgentServer() override
    {
        client_.reset();
        int status = 0;
        waitpid(server_, &status, 0);
        EXPECT_TRUE(WIFEXITED(status)) << "the server died of signal " << WTERMSIG(status);
        EXPECT_EQ(WEXITSTATUS(status), expected_status_);
    }

    AgentClient &client() { return *client_; }
    RunReply run(const RunRequest &request)
    {
        const auto answer = client().run(request, ample());
        EXPECT_TRUE(answer) << answer.message();
        return answer ? *answer : RunReply();
    }
    RunReply shell(const std::string &script, std::uint32_t time_limit_ms = 0)
    {
        return run({.argv = {"sh", "-c", script}, .time_limit_ms = time_limit_ms});
    }

    static constexpr int kPoweredOff = 42;
    TemporaryDirectory directory_{testing::TempDir(), "agent-server-"};
    pid_t server_ = -1;
    int expected_status_ = 0;
    std::optional<AgentClient> client_;
};

// A zombie is dead: the server reaps strays only when it runs the next command.
bool alive(const std::string &pid)
{
    const auto processes = list_processes();
    return std::any_of(processes.begin(), processes.end(),
                       [&](const ProcessEntry &p) { return p.pid == std::stoi(pid); });
}

// True once the process is gone; the kernel takes a moment after SIGKILL.
bool ends(const std::string &pid)
{
    const Deadline deadline = ample();
    while (alive(pid) && !deadline.passed())
        std::this_thread::yield();
    return !alive(pid);
}

TEST_F(AgentServer, Pings)
{
    client().ping(ample());
}

TEST_F(AgentServer, KeepsOutputAndErrorsApart)
{
    const RunReply reply = shell("echo out; echo err >&2; exit 3");
    EXPECT_EQ(reply.end, RunEnd::exited);
    EXPECT_EQ(reply.code, 3);
    EXPECT_EQ(reply.output, "out\n");
    EXPECT_EQ(reply.errors, "err\n");
    EXPECT_FALSE(reply.output_truncated);
    EXPECT_GT(reply.elapsed_usec, 0u);
}

TEST_F(AgentServer, ReportsTheSignal)
{
    const RunReply reply = shell("kill -SEGV $$");
    EXPECT_EQ(reply.end, RunEnd::signalled);
    EXPECT_EQ(reply.code, SIGSEGV);
}

TEST_F(AgentServer, PassesEnvironmentDirectoryAndArguments)
{
    const RunReply reply =
        run({.argv = {"sh", "-c", "echo \"$COLOUR $1 $(pwd) $(umask)\"", "-", "a b"},
             .environment = {"COLOUR=red"},
             .directory = directory_.path()});
    EXPECT_EQ(reply.output, "red a b " + directory_.path().string() + " 0022\n");
    EXPECT_EQ(shell("pwd; echo $COLOUR").output, "/\n\n") << "must not stick to the server";
}

TEST_F(AgentServer, GivesStdinAndThenItsEnd)
{
    const std::string input(3 << 20, 'i');
    const RunReply reply = run({.argv = {"cat"}, .input = input});
    EXPECT_EQ(reply.output, input);
    EXPECT_EQ(shell("cat").output, "") << "without input there is an end at once";
}

TEST_F(AgentServer, ACommandMayLeaveItsStdinUnread)
{
    EXPECT_TRUE(run({.argv = {"true"}, .input = std::string(1 << 20, 'i')}).success());
}

TEST_F(AgentServer, TheCommandHasNoSignalsBlockedAndItsOwnSession)
{
    // Without a shell, which would clear its mask itself.
    const RunReply reply = run({.argv = {"grep", "-E", "^(SigBlk|SigIgn)", "/proc/self/status"}});
    EXPECT_EQ(reply.output, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
    EXPECT_TRUE(shell("test $(cut -d' ' -f6 /proc/$$/stat) = $$").success());
}

TEST_F(AgentServer, TheCommandGetsNoOtherDescriptors)
{
    // Asked one by one: listing a directory, or a pipe, would open more.
    const RunReply reply = shell("i=0; while [ $i -lt 64 ]; do "
                                 "[ -e /proc/$$/fd/$i ] && echo $i; i=$((i+1)); done; true");
    EXPECT_EQ(reply.output, "0\n1\n2\n");
}

TEST_F(AgentServer, AMissingProgramOrDirectoryIsAnErrno)
{
    const auto missing = client().run({.argv = {"no-such-program"}}, ample());
    EXPECT_EQ(missing.error_number(), ENOENT);
    EXPECT_NE(missing.message().find("no-such-program"), std::string::npos);
    EXPECT_EQ(client().run({.argv = {"true"}, .directory = "/no/such"}, ample()).error_number(),
              ENOENT);
    EXPECT_EQ(client().run({}, ample()).error_number(), EINVAL);
    client().ping(ample());
}

TEST_F(AgentServer, TruncatesEachStreamByItself)
{
    const RunReply reply = shell("head -c 5000000 /dev/zero; echo short >&2");
    EXPECT_EQ(reply.output.size(), kDataLimit);
    EXPECT_TRUE(reply.output_truncated);
    EXPECT_EQ(reply.errors, "short\n");
    EXPECT_FALSE(reply.errors_truncated);
    EXPECT_EQ(reply.code, 0) << "the command itself is not cut short";
}

TEST_F(AgentServer, TheTimeLimitKillsGrandchildrenInOtherSessions)
{
    const Stopwatch watch;
    const RunReply reply =
        shell("setsid sh -c 'setsid sleep 1000 & echo $!; wait' & echo $$; wait", 500);
    EXPECT_EQ(reply.end, RunEnd::timed_out);
    EXPECT_EQ(reply.survivors, 0u);
    EXPECT_GE(reply.elapsed_usec, 500'000u);
    EXPECT_LT(watch.seconds(), 100);
    const auto newline = reply.output.find('\n');
    ASSERT_NE(newline, std::string::npos);
    ASSERT_GT(reply.output.size(), newline + 1) << reply.output;
    EXPECT_TRUE(ends(reply.output.substr(0, newline)));
    EXPECT_TRUE(ends(reply.output.substr(newline + 1)));
    client().ping(ample());
}

TEST_F(AgentServer, AStrayProcessHoldsNothingUp)
{
    const Stopwatch watch;
    const RunReply reply = shell("setsid sleep 1000 & echo $!");
    EXPECT_EQ(reply.end, RunEnd::exited);
    EXPECT_LT(watch.seconds(), 100);
    const std::string stray = reply.output;
    EXPECT_TRUE(alive(stray)) << "a daemon may outlive the command that started it";
    // A later command's time limit is none of its business.
    EXPECT_EQ(shell("sleep 1000", 50).end, RunEnd::timed_out);
    EXPECT_TRUE(alive(stray));
    shell("kill -9 " + stray);
    EXPECT_TRUE(ends(stray));
}

TEST_F(AgentServer, AStrayProcessThatFloodsHoldsNothingUp)
{
    const RunReply reply = shell("setsid yes & echo $! >&2; sleep 0.05");
    EXPECT_EQ(reply.end, RunEnd::exited);
    EXPECT_TRUE(ends(reply.errors)) << "its pipe is gone";
}

// What one image's command leaves must not hold up the unmount, nor meet the next image.
TEST_F(AgentServer, AJudgedCommandLeavesNothingRunning)
{
    const std::string earlier = shell("setsid sleep 1000 & echo $!").output;
    JudgeRequest request;
    request.command.argv = {"sh", "-c", "setsid sleep 1000 & echo $!"};
    const auto answer = client().judge(request, ample());
    ASSERT_TRUE(answer) << answer.message();
    EXPECT_EQ(answer->command.end, RunEnd::exited);
    EXPECT_EQ(answer->command.survivors, 0u);
    EXPECT_FALSE(alive(answer->command.output));
    EXPECT_TRUE(alive(earlier)) << "not the image's";
    shell("kill -9 " + earlier);
    EXPECT_TRUE(ends(earlier));
}

TEST_F(AgentServer, WhatIsTriedOutIsWhatTheCommandLeft)
{
    std::filesystem::create_directory(directory_.path() / "tmp");
    JudgeRequest request;
    request.mount.target = directory_.path();
    request.command.argv = {"sh", "-c", "rmdir tmp && mkdir -p new/.fencepost-usable"};
    request.command.directory = directory_.path();
    request.usable = true;
    for (const bool dump : {true, false}) {
        request.dump = dump;
        const auto answer = client().judge(request, ample());
        ASSERT_TRUE(answer) << answer.message();
        EXPECT_EQ(answer->problems, (std::vector<UsableProblem>{{"new", "create", EEXIST}}));
        EXPECT_EQ(answer->tree.entries.size(), dump ? 2u : 0u) << "as it was before the command";
    }
}

TEST_F(AgentServer, ATreeThatWasNotAllTriedIsAFailedStep)
{
    JudgeRequest request;
    request.mount.target = directory_.path();
    request.usable = true;
    request.limits.entries = 3;
    const auto error_of_trial = [&] {
        const auto answer = client().judge(request, ample());
        for (const StepResult &step : answer->steps)
            if (step.step == JudgeStep::usable)
                return step.error_number;
        return -1;
    };
    EXPECT_EQ(error_of_trial(), 0);
    for (const char *name : {"a", "b", "c"})
        std::filesystem::create_directory(directory_.path() / name);
    EXPECT_EQ(error_of_trial(), EOVERFLOW);
}

TEST_F(AgentServer, ATreeThatIsTooDeepIsNotAllTried)
{
    JudgeRequest request;
    request.mount.target = directory_.path();
    request.usable = true;
    const auto error_of_trial = [&] {
        const auto answer = client().judge(request, ample());
        return answer->steps.back().error_number;
    };
    // Contents beyond the dump's limit are no reason not to try every directory.
    request.limits.content_bytes = 1;
    ASSERT_TRUE(client().write_whole_file(directory_.path() / "file", "bytes", 0644, ample()));
    std::filesystem::path deep = directory_.path();
    for (unsigned level = 0; level < 64; ++level)
        deep /= "d";
    std::filesystem::create_directories(deep);
    for (const bool dump : {true, false}) {
        request.dump = dump;
        EXPECT_EQ(error_of_trial(), 0);
    }
    std::filesystem::create_directory(deep / "d");
    for (const bool dump : {true, false}) {
        request.dump = dump;
        EXPECT_EQ(error_of_trial(), EOVERFLOW);
    }
}

TEST_F(AgentServer, WritesAndReadsFiles)
{
    const std::string path = directory_.path() / "a/b/file";
    const std::string data(2'500'000, 'w');
    ASSERT_TRUE(client().write_whole_file(path, data, 0775, ample()));
    struct stat status;
    ASSERT_EQ(stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0775u);
    EXPECT_EQ(*client().read_whole_file(path, 3 << 20, ample()), data);

    ASSERT_TRUE(client().write_file({path, 0600, 2, false, "XY"}, ample()));
    const auto piece = client().read_file({path, 1, 4}, ample());
    ASSERT_TRUE(piece);
    EXPECT_EQ(piece->data, "wXYw");
    EXPECT_FALSE(piece->at_end);
    EXPECT_EQ(fencepost::read_file(path).size(), data.size());

    ASSERT_TRUE(client().write_file({path, 0600, 0, true, ""}, ample()));
    EXPECT_EQ(fencepost::read_file(path), "");
    const auto empty = client().read_file({path, 0, 10}, ample());
    ASSERT_TRUE(empty);
    EXPECT_TRUE(empty->at_end);
}

TEST_F(AgentServer, ReadsExactlyToTheEnd)
{
    const std::string path = directory_.path() / "four";
    fencepost::write_file(path, "four");
    const auto exact = client().read_file({path, 0, 4}, ample());
    ASSERT_TRUE(exact);
    EXPECT_EQ(exact->data, "four");
    EXPECT_TRUE(exact->at_end);
    EXPECT_TRUE(client().read_file({"/proc/self/stat", 0, 65536}, ample())->at_end);
    EXPECT_EQ(client().read_file({"/dev/zero", 0, 100}, ample())->data, std::string(100, '\0'));
}

TEST_F(AgentServer, FileErrorsAreErrnos)
{
    EXPECT_EQ(client().read_file({"/no/such", 0, 1}, ample()).error_number(), ENOENT);
    EXPECT_EQ(client().read_file({"/", 0, 1}, ample()).error_number(), EISDIR);
    EXPECT_EQ(client().read_file({"/dev/zero", 0, kDataLimit + 1}, ample()).error_number(), EINVAL);
    EXPECT_EQ(client().write_file({directory_.path(), 0644, 0, true, "x"}, ample()).error_number(),
              EISDIR);
    fencepost::write_file(directory_.path() / "file", "");
    EXPECT_EQ(client()
                  .write_file({directory_.path() / "file/below", 0644, 0, true, "x"}, ample())
                  .error_number(),
              ENOTDIR);
}

TEST_F(AgentServer, AFifoHoldsNothingUp)
{
    const std::string path = directory_.path() / "fifo";
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    const auto answer = client().read_file({path, 0, 10}, ample());
    ASSERT_TRUE(answer) << answer.message();
    EXPECT_EQ(answer->data, "");
    EXPECT_EQ(client().write_file({path, 0644, 0, true, "x"}, ample()).error_number(), ENXIO);
}

TEST_F(AgentServer, MountErrorsAreErrnosWithASentence)
{
    const std::string target = directory_.path() / "mnt/point";
    const auto answer = client().mount({"none", target, "no-such-fs", "ro"}, ample());
    EXPECT_FALSE(answer);
    EXPECT_TRUE(answer.error_number() == ENODEV || answer.error_number() == EPERM);
    EXPECT_NE(answer.message().find(target), std::string::npos) << answer.message();
    EXPECT_TRUE(std::filesystem::is_directory(target));
    EXPECT_FALSE(client().unmount(target, ample()));
}

TEST_F(AgentServer, EndsAfterPowerOff)
{
    client().power_off(ample());
    expected_status_ = kPoweredOff;
}

} // namespace
} // namespace fencepost::agent
