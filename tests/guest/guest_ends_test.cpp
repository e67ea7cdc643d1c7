// SPDX-License-Identifier: GPL-2.0-or-later
// Each way a guest can end is told from the others, through both backends.
#include <csignal>

#include <gtest/gtest.h>

#include "tests/guest/world.h"

namespace fencepost::guest {
namespace {

class GuestEnds : public testing::TestWithParam<const char *> {
protected:
    World world_{GetParam()};
    std::unique_ptr<Guest> guest_ = world_.restore();

    GuestEnd end_of(const std::function<void(AgentClient &)> &talk)
    {
        try {
            guest_->with_agent([&](AgentClient &agent) { talk(agent); });
        } catch (const GuestLost &lost) {
            said_ = lost.what();
            return lost.end();
        }
        throw std::runtime_error("the guest did not end");
    }

    // Starts a command that ends the guest and waits for an answer that never comes.
    GuestEnd end_by(const std::vector<std::string> &argv)
    {
        return end_of([&](AgentClient &agent) {
            RunRequest request;
            request.argv = argv;
            agent.run(request, soon());
            for (;;)
                agent.ping(soon());
        });
    }

    pid_t machine_pid()
    {
        const std::vector<pid_t> pids = machines_using(world_.source().directory);
        EXPECT_EQ(pids.size(), 1u);
        return pids.at(0);
    }

    std::string said_;
};

TEST_P(GuestEnds, PowerOff)
{
    EXPECT_EQ(end_by({"poweroff", "-f"}), GuestEnd::powered_off);
}

TEST_P(GuestEnds, Reboot)
{
    EXPECT_EQ(end_by({"reboot", "-f"}), GuestEnd::rebooted);
}

TEST_P(GuestEnds, Panic)
{
    EXPECT_EQ(end_by({"sh", "-c", "echo c > /proc/sysrq-trigger"}), GuestEnd::panicked);
    EXPECT_NE(guest_->log().console().find("sysrq triggered crash"), std::string::npos);
}

TEST_P(GuestEnds, Hang)
{
    guest_->machine().tell("stop", soon());
    EXPECT_EQ(end_of([](AgentClient &agent) {
                  agent.ping(Deadline::after(std::chrono::milliseconds(300)));
              }),
              GuestEnd::hung);
}

TEST_P(GuestEnds, QemuKilled)
{
    kill(machine_pid(), SIGKILL);
    EXPECT_EQ(end_of([](AgentClient &agent) {
                  for (;;)
                      agent.ping(soon());
              }),
              GuestEnd::machine_died);
}

TEST_P(GuestEnds, OopsIsSeenWhileTheGuestLives)
{
    // A WARN-level message through the kernel's own log, and the agent still answers.
    run_in(*guest_, {"sh", "-c", "echo 'fencepost: a line for the log' > /dev/kmsg"});
    const Deadline deadline = soon();
    while (guest_->log().kernel_log().find("a line for the log") == std::string::npos) {
        ASSERT_FALSE(deadline.passed()) << "the log stream does not show what was logged";
        guest_->with_agent([](AgentClient &agent) { agent.ping(soon()); });
    }
}

TEST_P(GuestEnds, LostServerIsReplaced)
{
    // The agent's server serves us from a process of its own; killing it must not end the guest.
    try {
        run_in(*guest_, {"sh", "-c", "kill -SEGV $PPID; sleep 100"});
        FAIL() << "the server survived";
    } catch (const AgentLost &lost) {
        EXPECT_EQ(lost.loss(), ChannelLoss::server_lost);
    }
    EXPECT_EQ(run_in(*guest_, {"echo", "again"}).output, "again\n");
}

INSTANTIATE_TEST_SUITE_P(Backends, GuestEnds, testing::Values("process", "libvirt"),
                         [](const auto &given) { return std::string(given.param); });

} // namespace
} // namespace fencepost::guest
