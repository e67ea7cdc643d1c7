// SPDX-License-Identifier: GPL-2.0-or-later
// What a kernel log says that must not be: crashes, warnings, and file systems that found
// themselves damaged.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "replayer/oracle/judge.h"

namespace fencepost::oracle {

enum class Alarm {
    error,   // the kernel's own word for it; mostly a file system, its journal or its device
    warning, // WARN_ON, lockdep, a stuck task
    crash,   // oops, BUG, panic
};

struct LogAlarm {
    Alarm alarm = Alarm::warning;
    std::string line;    // as it was logged, without its time
    std::string summary; // the same whenever the same thing went wrong
};

// The gravest line, the first of them; nothing: the log is quiet. Lines are as the agent sends them
// ("priority,sequence,microseconds,flags;text") or plain. What the kernel itself logs as an error
// or worse is one, whatever it says; plain lines and warnings are known by their words.
std::optional<LogAlarm> find_alarm(std::string_view log);

// A text in which every number and address is '#'.
std::string without_numbers(std::string_view text);

} // namespace fencepost::oracle
