// SPDX-License-Identifier: GPL-2.0-or-later
// A guest: a machine, the agent in it, and the answer to how it ended.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "replayer/guest/agent_client.h"
#include "replayer/guest/guest_log.h"
#include "replayer/guest/judged/judged_guest.h"
#include "replayer/guest/machine.h"

namespace fencepost::guest {

const char *to_string(GuestEnd end);

class Guest : public JudgedGuest {
public:
    // Takes over a machine that has just been started; the channel is known for a restored one.
    explicit Guest(std::unique_ptr<Machine> machine);

    // After a boot: waits for the agent on whichever channel it chose.
    Hello wait_for_boot(Deadline deadline);
    // After a restore: uses this channel and pings.
    void resume_on(ChannelKind channel, Deadline deadline);

    // Runs `talk(agent)`; a lost agent becomes GuestLost with what really happened.
    template <typename Talk> auto with_agent(Talk &&talk)
    {
        try {
            return talk(*agent_);
        } catch (const AgentLost &lost) {
            explain(lost);
        }
    }

    Machine &machine() { return *machine_; }
    const GuestLog &log() const { return *log_; }

    agent::JudgeReply judge(const agent::JudgeRequest &request, Deadline deadline) override;
    void take_file(const agent::JobFile &file, Deadline deadline) override;
    agent::Outcome<MountReply> mount(const MountRequest &request, Deadline deadline) override;
    agent::Outcome<UnmountReply> unmount(const std::string &target, Deadline deadline) override;
    agent::Outcome<RunReply> run(const RunRequest &request, Deadline deadline) override;
    agent::Outcome<std::string> read_file(const std::string &path, std::size_t limit,
                                          Deadline deadline) override;
    agent::Outcome<WriteFileReply> write_file(const std::string &path, std::string_view data,
                                              Deadline deadline) override;
    std::string kernel_log() const override { return log_->kernel_log(); }
    std::string console() const override { return log_->console(); }
    std::optional<KernelCrash> wait_for_crash(std::chrono::milliseconds span) const override
    {
        return log_->wait_for_crash(span);
    }
    std::chrono::milliseconds waited_for_cpu() const override;

    // The host's end of the guest's second serial port, /dev/ttyS1, which has no other use while
    // the agent is on virtio. An Error(guest) where it is not.
    Fd take_terminal();

    // Asks the guest to power off and waits for QEMU's end.
    void power_off(Deadline deadline);

private:
    void talk_on(Fd channel);
    [[noreturn]] void explain(const AgentLost &lost);
    [[noreturn]] void explain_end();

    std::unique_ptr<Machine> machine_;
    Fd control_virtio_;
    Fd control_serial_;
    std::optional<AgentClient> agent_;
    std::unique_ptr<GuestLog> log_;
};

} // namespace fencepost::guest
