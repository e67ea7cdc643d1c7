// SPDX-License-Identifier: GPL-2.0-or-later
// What a kernel log says that must not be: crashes, warnings, and file systems that found
// themselves damaged.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "replayer/guest/judged/kernel_crash.h"
#include "replayer/guest/judged/log_patterns.h"

namespace fencepost::oracle {

using guest::Alarm;

struct LogAlarm {
    Alarm alarm = Alarm::warning;
    std::string line;    // as it was logged, without its time
    std::string summary; // the same whenever the same thing went wrong
};

// What two summaries have in common that differ in numbers alone, also in those that
// without_numbers() takes for words, such as "dead".
std::string mask_key(std::string_view summary);

// Keys of lines that a healthy file system logs too.
using MaskedLines = std::set<std::string>;

// Every line that must not be, in order. Lines are as the agent sends them
// ("priority,sequence,microseconds,flags;text") or plain. What the kernel itself logs as an error
// or worse is one, whatever it says; plain lines and warnings are known by their words.
std::vector<LogAlarm> find_alarms(std::string_view log);
// The gravest of those that are not masked, the first of them; nothing: the log is quiet. A crash
// cannot be masked.
std::optional<LogAlarm> find_alarm(std::string_view log, const MaskedLines &masked = {});

using guest::without_numbers;

} // namespace fencepost::oracle
