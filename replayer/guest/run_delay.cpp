// SPDX-License-Identifier: GPL-2.0-or-later
// See run_delay.h.
#include "replayer/guest/run_delay.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>

namespace fencepost::guest {

namespace fs = std::filesystem;

namespace {

std::string pid_of(int pidfd)
{
    std::ifstream text(fmt::format("/proc/self/fdinfo/{}", pidfd));
    for (std::string word; text >> word;)
        if (word == "Pid:" && text >> word)
            return word;
    return {};
}

} // namespace

std::chrono::milliseconds run_delay(int end_fd)
{
    std::uint64_t longest = 0;
    std::error_code error;
    fs::directory_iterator threads("/proc/" + pid_of(end_fd) + "/task", error);
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
