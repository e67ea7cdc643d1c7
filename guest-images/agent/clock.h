// SPDX-License-Identifier: GPL-2.0-or-later
// The guest's monotonic clock in microseconds.
#pragma once

#include <cstdint>

#include <time.h>

namespace fencepost::agent {

inline std::uint64_t monotonic_usec()
{
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000 +
           static_cast<std::uint64_t>(now.tv_nsec) / 1000;
}

inline void pause_usec(std::uint64_t span)
{
    const timespec wait = {static_cast<time_t>(span / 1'000'000),
                           static_cast<long>(span % 1'000'000 * 1000)};
    nanosleep(&wait, nullptr);
}

} // namespace fencepost::agent
