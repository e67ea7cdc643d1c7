// SPDX-License-Identifier: GPL-2.0-or-later
// Processes that are known by a descriptor.
#pragma once

#include <optional>

#include <sys/types.h>

namespace fencepost {

// Nothing: the descriptor is no pidfd, or its process has been waited for.
std::optional<pid_t> pid_of(int pidfd);

} // namespace fencepost
