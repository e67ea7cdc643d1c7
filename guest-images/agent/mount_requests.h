// SPDX-License-Identifier: GPL-2.0-or-later
// Mounting and unmounting in the server process itself: a warm worker does little else.
#pragma once

#include <string>
#include <string_view>

#include "guest-images/agent/outcome.h"

namespace fencepost::agent {

struct MountOptions {
    unsigned long flags = 0;
    std::string data; // what is left for the file system to understand
};

MountOptions parse_mount_options(std::string_view options);

Outcome<MountReply> mount_file_system(const MountRequest &request);
Outcome<UnmountReply> unmount_file_system(const UnmountRequest &request);

} // namespace fencepost::agent
