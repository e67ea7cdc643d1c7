// SPDX-License-Identifier: GPL-2.0-or-later
// See pidfd.h.
#include "base/pidfd.h"

#include <fstream>
#include <string>

#include <fmt/core.h>

namespace fencepost {

std::optional<pid_t> pid_of(int pidfd)
{
    std::ifstream text(fmt::format("/proc/self/fdinfo/{}", pidfd));
    for (std::string word; text >> word;)
        if (pid_t pid = -1; word == "Pid:" && text >> pid && pid > 0)
            return pid;
    return std::nullopt;
}

} // namespace fencepost
