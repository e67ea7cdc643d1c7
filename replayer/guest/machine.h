// SPDX-License-Identifier: GPL-2.0-or-later
// A running virtual machine, whoever started it: its channels, its monitor and its end.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/deadline.h"
#include "base/fd.h"
#include "replayer/guest/guest_config.h"

namespace fencepost::guest {

// All that a backend needs to start a machine.
struct MachinePlan {
    GuestConfig config;
    std::filesystem::path kernel;
    std::filesystem::path initrd;
    std::filesystem::path ram_file; // empty: RAM is in no file
    // False: boot, with RAM shared with `ram_file`. True: wait for a frozen state, with RAM a
    // private copy of `ram_file`.
    bool restore = false;
    std::vector<std::filesystem::path> pm_files; // one for each of config.pm
    // Of a recording guest.
    std::filesystem::path mailbox_file;
    std::filesystem::path console_file;
    std::vector<std::string> extra_arguments; // for QEMU, last
};

// The same plan with every file name replaced by a fixed word, and nothing that may differ between
// the freeze and the restore.
MachinePlan without_files(const MachinePlan &plan);

// The host's ends. A guest uses virtio or serial for control and log; the other stays silent.
struct Channels {
    Fd control_virtio;
    Fd control_serial;
    Fd log_virtio;
    Fd log_serial;
    Fd console;
};

enum class MachineEnd {
    powered_off, // the guest asked for it
    reset,       // the guest rebooted, which ends it (a panic looks like this from outside)
    died,        // QEMU itself ended: killed, aborted, or refused to start
};

class Machine {
public:
    virtual ~Machine() = default;

    Machine(const Machine &) = delete;
    Machine &operator=(const Machine &) = delete;

    // Handed out once.
    virtual Channels take_channels() = 0;
    // A QMP command; throws a guest error with QEMU's words if it fails.
    virtual nlohmann::json execute(const std::string &command, const nlohmann::json &arguments,
                                   Deadline deadline) = 0;
    // A command without arguments whose answer says nothing more.
    void tell(const std::string &command, Deadline deadline);
    // Readable once QEMU has ended.
    virtual int end_fd() const = 0;
    virtual std::optional<MachineEnd> poll_end() = 0;
    // What QEMU wrote to stderr, or how it ended: for the message that reports its death.
    virtual std::string last_words() = 0;

protected:
    Machine() = default;
};

// A way to start machines.
class Backend {
public:
    virtual ~Backend() = default;

    Backend(const Backend &) = delete;
    Backend &operator=(const Backend &) = delete;

    virtual std::string name() const = 0;
    // Everything about the machine that a frozen state depends on, as text; file names are left
    // out.
    virtual std::string identity(const MachinePlan &plan) const = 0;
    virtual std::unique_ptr<Machine> start(const MachinePlan &plan, Deadline deadline) = 0;

protected:
    Backend() = default;
};

// "process", "libvirt" (its embedded driver, no daemon) or "libvirt:URI".
void check_backend_name(const std::string &name);
std::unique_ptr<Backend> make_backend(const std::string &name, const std::filesystem::path &cache);

} // namespace fencepost::guest
