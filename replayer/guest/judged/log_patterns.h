// SPDX-License-Identifier: GPL-2.0-or-later
// What lines of a kernel log mean: the only place that knows the kernel's words.
#pragma once

#include <optional>
#include <string_view>

#include "replayer/guest/judged/kernel_crash.h"

namespace fencepost::guest {

// In ascending order of weight.
enum class Alarm {
    error,   // the kernel's own word for it; mostly a file system, its journal or its device
    warning, // WARN_ON, lockdep, a stuck task
    crash,   // oops, BUG, panic, lockup
};

// By the words of a record; nothing: no pattern matches. What a process writes to the log can be no
// crash of the kernel.
std::optional<Alarm> alarm_of(const LogRecord &record);
bool tells_crash(const LogRecord &record);

// After it nobody in the guest runs.
inline constexpr std::string_view kPanic = "Kernel panic - not syncing";

// Records were left out by the kernel because there were too many like them.
bool left_records_out(std::string_view log);

} // namespace fencepost::guest
