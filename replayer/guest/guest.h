// SPDX-License-Identifier: GPL-2.0-or-later
// A guest: a machine, the agent in it, and the answer to how it ended.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "replayer/guest/agent_client.h"
#include "replayer/guest/guest_log.h"
#include "replayer/guest/machine.h"

namespace fencepost::guest {

enum class GuestEnd {
    powered_off,
    rebooted,
    panicked,
    crashed,      // oops, BUG, lockup: it may go on, but not with what it was asked
    hung,         // the machine runs, the agent does not answer
    agent_broken, // the agent answers nonsense
    machine_died, // QEMU ended by itself or was killed
};

const char *to_string(GuestEnd end);

// Thrown when a guest can no longer be talked to.
class GuestLost : public Error {
public:
    GuestLost(GuestEnd end, const std::string &message,
              std::optional<JudgeStep> step = std::nullopt)
        : Error(ErrorKind::guest, message), end_(end), step_(step)
    {
    }
    GuestEnd end() const { return end_; }
    // Of a judge request: the last one that was begun.
    std::optional<JudgeStep> step() const { return step_; }

private:
    GuestEnd end_;
    std::optional<JudgeStep> step_;
};

class Guest {
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
    // For a CPU of the host, so far; see run_delay.h.
    std::chrono::milliseconds waited_for_cpu() const;
    const GuestLog &log() const { return *log_; }
    // The number of the last record of the kernel log that belongs to images judged before.
    std::uint64_t judged_records() const { return judged_records_; }
    void set_judged_records(std::uint64_t sequence) { judged_records_ = sequence; }
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
    std::uint64_t judged_records_ = 0;
};

} // namespace fencepost::guest
