// SPDX-License-Identifier: GPL-2.0-or-later
// How a guest is lost to whoever asked it something.
#pragma once

#include <optional>
#include <string>

#include "base/error.h"
#include "guest-images/agent/protocol.h"

namespace fencepost::guest {

enum class ChannelLoss {
    closed,      // the guest's end is gone, or the machine has ended
    timed_out,   // no complete answer by the deadline
    protocol,    // what came is no valid frame or not the answer to what was asked
    server_lost, // the agent's server died on this request; a new one takes the next
    crashed,     // the guest's kernel crashed meanwhile, though it may go on
};

class AgentLost : public Error {
public:
    AgentLost(ChannelLoss loss, const std::string &message,
              std::optional<agent::JudgeStep> step = std::nullopt)
        : Error(ErrorKind::guest, message), loss_(loss), step_(step)
    {
    }

    ChannelLoss loss() const { return loss_; }
    // Of a judge request: the last one that was begun.
    std::optional<agent::JudgeStep> step() const { return step_; }

private:
    ChannelLoss loss_;
    std::optional<agent::JudgeStep> step_;
};

enum class GuestEnd {
    powered_off,
    rebooted,
    panicked,
    crashed,      // oops, BUG, lockup: it may go on, but not with what it was asked
    hung,         // the machine runs, the agent does not answer
    agent_broken, // the agent answers nonsense
    machine_died, // QEMU ended by itself or was killed
};

// Thrown when a guest can no longer be talked to.
class GuestLost : public Error {
public:
    GuestLost(GuestEnd end, const std::string &message,
              std::optional<agent::JudgeStep> step = std::nullopt)
        : Error(ErrorKind::guest, message), end_(end), step_(step)
    {
    }
    GuestEnd end() const { return end_; }
    // Of a judge request: the last one that was begun.
    std::optional<agent::JudgeStep> step() const { return step_; }

private:
    GuestEnd end_;
    std::optional<agent::JudgeStep> step_;
};

} // namespace fencepost::guest
