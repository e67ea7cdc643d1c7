// SPDX-License-Identifier: GPL-2.0-or-later
// A guest whose runs repeat: it gets its work through memory before it resumes, answers there, and
// stops itself. The counterpart of guest.h, which talks to a guest while it runs.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "guest-images/agent/job.h"
#include "guest-images/agent/mailbox.h"
#include "replayer/guest/qemu_machine.h"

namespace fencepost::guest {

// Where the host finds what the guest sees as devices.
struct RecordingFiles {
    std::filesystem::path mailbox;
    std::filesystem::path console; // what the guest writes on it
};

// A mailbox with a request in it; an existing file is replaced. An io error if it does not fit.
void make_mailbox(const std::filesystem::path &path, std::string_view request);

// Why a guest that was resumed stands still.
enum class RecordingStop {
    by_itself, // its agent says where it is: state()
    panicked,
    powered_off,
    rebooted,
    machine_died,
    time_over, // it does not stand still: it still runs
};

const char *to_string(RecordingStop stop);

class RecordingGuest {
public:
    RecordingGuest(std::unique_ptr<Machine> machine, RecordingFiles files);
    ~RecordingGuest();

    // After the machine was started: until the agent is ready to be frozen.
    agent::BootReport wait_for_boot(Deadline deadline);
    // Goes on until the guest stops or the deadline has passed; calls `tick` now and then.
    RecordingStop resume(Deadline deadline, const std::function<void()> &tick = {});
    agent::MailboxState state() const;
    // The answer of a guest that says that it finished; a guest error if it cannot be one.
    agent::JobReport report() const;
    std::string console() const;
    // Ends QEMU the way that lets its plugins finish their work. False: it had to be killed.
    bool quit(Deadline deadline);

    QemuMachine &machine() { return *machine_; }
    std::unique_ptr<Machine> release_machine() { return std::move(machine_); }

private:
    RecordingStop wait_for_stop(std::size_t stops_before, Deadline deadline,
                                const std::function<void()> &tick);
    std::string take_answer() const;

    std::unique_ptr<QemuMachine> machine_;
    RecordingFiles files_;
    std::span<std::byte> memory_; // of the mailbox
};

} // namespace fencepost::guest
