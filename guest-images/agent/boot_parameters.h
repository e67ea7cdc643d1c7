// SPDX-License-Identifier: GPL-2.0-or-later
// What the host tells the agent on the kernel command line.
#pragma once

#include <string_view>

namespace fencepost::agent {

struct BootParameters {
    bool serial_channel = false; // fencepost.channel=serial
    bool recording = false;      // fencepost.recording: work comes by mailbox, see recording.h
    bool standalone =
        false; // fencepost.standalone: work comes with the initramfs, see standalone.h
    unsigned pm_devices = 0; // fencepost.pm_devices=N: to wait for before the hello
};

BootParameters parse_boot_parameters(std::string_view command_line);

} // namespace fencepost::agent
