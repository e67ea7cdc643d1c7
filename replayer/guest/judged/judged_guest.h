// SPDX-License-Identifier: GPL-2.0-or-later
// A guest as oracles see it: what it answers, what it logs, how it is lost. The machine is not
// their concern.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/deadline.h"
#include "guest-images/agent/job.h"
#include "guest-images/agent/outcome.h"
#include "guest-images/agent/protocol.h"
#include "replayer/guest/judged/kernel_crash.h"

namespace fencepost::guest {

// Requests throw GuestLost, or AgentLost where only the agent's server died on them.
class JudgedGuest {
public:
    virtual ~JudgedGuest() = default;

    virtual agent::JudgeReply judge(const agent::JudgeRequest &request, Deadline deadline) = 0;
    // An Error(guest) if the guest cannot have it.
    virtual void take_file(const agent::JobFile &file, Deadline deadline) = 0;

    // One by one, for an oracle that talks with the guest itself.
    virtual agent::Outcome<agent::MountReply> mount(const agent::MountRequest &request,
                                                    Deadline deadline) = 0;
    virtual agent::Outcome<agent::UnmountReply> unmount(const std::string &target,
                                                        Deadline deadline) = 0;
    virtual agent::Outcome<agent::RunReply> run(const agent::RunRequest &request,
                                                Deadline deadline) = 0;
    // At most `limit` bytes, else EFBIG.
    virtual agent::Outcome<std::string> read_file(const std::string &path, std::size_t limit,
                                                  Deadline deadline) = 0;
    virtual agent::Outcome<agent::WriteFileReply>
    write_file(const std::string &path, std::string_view data, Deadline deadline) = 0;

    virtual std::string kernel_log() const = 0;
    virtual std::string console() const = 0;
    // The crash that log or console tell. Waits for all of it, and for a crash to be told at all,
    // for at most this long.
    virtual std::optional<KernelCrash> wait_for_crash(std::chrono::milliseconds span) const = 0;
    // For a CPU of the host, so far; see run_delay.h.
    virtual std::chrono::milliseconds waited_for_cpu() const = 0;

    // The number of the last record of the kernel log that belongs to images judged before.
    std::uint64_t judged_records() const { return judged_records_; }
    void set_judged_records(std::uint64_t sequence) { judged_records_ = sequence; }

private:
    std::uint64_t judged_records_ = 0;
};

} // namespace fencepost::guest
