// SPDX-License-Identifier: GPL-2.0-or-later
// The PM block devices that the kernel knows.
#pragma once

#include <string>
#include <vector>

#include "guest-images/agent/protocol.h"

namespace fencepost::agent {

// Sorted by name. `block_directory` is /sys/block, except in tests.
std::vector<PmDevice> list_pm_devices(const std::string &block_directory = "/sys/block");

} // namespace fencepost::agent
