// SPDX-License-Identifier: GPL-2.0-or-later
// QEMU's command line for a machine plan.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "replayer/guest/machine.h"

namespace fencepost::guest {

struct QemuProgram {
    std::filesystem::path path;
    std::string version; // "10.0.2 (Debian …)"
    int major = 0;
    int minor = 0;

    bool sufficient() const;
};

constexpr int kMinQemuMajor = 9;
constexpr int kMinQemuMinor = 2;

// $FENCEPOST_QEMU or qemu-system-x86_64 on PATH; throws a guest error if it is missing.
QemuProgram find_qemu();
// As find_qemu(), and refuses one that is too old.
QemuProgram require_qemu();

// Each part is used by both backends; together they are the process backend's command line.
std::string kernel_command_line(const GuestConfig &config);
std::string cpu_model(const GuestConfig &config);
std::vector<std::string> memory_arguments(const MachinePlan &plan);
std::vector<std::string> clock_arguments(const GuestConfig &config);

// Descriptor numbers that QEMU finds its channels at.
struct ChannelFds {
    int qmp = 10;
    int control_virtio = 11;
    int control_serial = 12;
    int log_virtio = 13;
    int log_serial = 14;
    int console = 15;
};

std::vector<std::string> qemu_command(const QemuProgram &qemu, const MachinePlan &plan,
                                      const ChannelFds &fds);

// Of a machine that boots by itself and talks to nobody: PM in files that the guest writes to,
// `console` a file that gets what its serial port says, RAM in no file.
std::vector<std::string> standalone_command(const MachinePlan &plan, const std::string &program,
                                            const std::string &console,
                                            const std::string &kernel_arguments);

// A comma in an option's value is doubled (QEMU's own rule).
std::string escape_commas(const std::filesystem::path &path);

// A command line as one would type it.
std::string quoted(const std::vector<std::string> &command);
// Likewise that of a plan, for the QEMU of this machine.
std::string shown_command(const MachinePlan &plan);

} // namespace fencepost::guest
