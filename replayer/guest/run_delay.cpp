// SPDX-License-Identifier: GPL-2.0-or-later
// See run_delay.h.
#include "replayer/guest/run_delay.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>

#include <fmt/core.h>

#include "base/pidfd.h"

namespace fencepost::guest {

namespace fs = std::filesystem;

std::chrono::milliseconds run_delay(int end_fd)
{
    const std::optional<pid_t> pid = pid_of(end_fd);
    if (!pid)
        return {};
    std::uint64_t longest = 0;
    std::error_code error;
    fs::directory_iterator threads(fmt::format("/proc/{}/task", *pid), error);
    while (!error && threads != fs::directory_iterator()) {
        // Nanoseconds on a CPU, nanoseconds of waiting for one, turns.
        std::uint64_t ran = 0;
        std::uint64_t waited = 0;
        if (std::ifstream(threads->path() / "schedstat") >> ran >> waited)
            longest = std::max(longest, waited);
        threads.increment(error);
    }
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::nanoseconds(longest));
}

} // namespace fencepost::guest
