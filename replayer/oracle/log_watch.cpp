// SPDX-License-Identifier: GPL-2.0-or-later
// See log_watch.h.
#include "replayer/oracle/log_watch.h"

#include "replayer/oracle/log_context.h"

#include <algorithm>
#include <array>

namespace fencepost::oracle {

namespace {

struct Pattern {
    std::string_view text; // anywhere in the line
    Alarm alarm;
    std::string_view also = {}; // and this too
};

constexpr unsigned kErrorPriority = 3; // KERN_ERR; smaller is worse

constexpr std::array kPatterns = {
    Pattern{"UBSAN: ", Alarm::warning},
    Pattern{"WARNING: ", Alarm::warning},
    Pattern{"INFO: task ", Alarm::warning, "blocked for more than"},
    Pattern{"INFO: rcu", Alarm::warning, "stall"},
    Pattern{"possible circular locking dependency", Alarm::warning},
    Pattern{"possible recursive locking", Alarm::warning},
    Pattern{"inconsistent lock state", Alarm::warning},
    Pattern{"suspicious RCU usage", Alarm::warning},
    Pattern{"bad unlock balance", Alarm::warning},
    Pattern{"INFO: trying to register non-static key", Alarm::warning},
    // It keeps the super block, and may crash when the inodes go.
    Pattern{"VFS: Busy inodes after unmount", Alarm::warning},
    Pattern{"EXT2-fs", Alarm::error, "error"},
    Pattern{"EXT4-fs", Alarm::error, "error"},
    Pattern{"EXT4-fs warning", Alarm::error},
    Pattern{"EXT4-fs (", Alarm::error, "failed"},
    Pattern{"EXT4-fs (", Alarm::error, "not cleared"},
    Pattern{"EXT4-fs (", Alarm::error, "corrupt"},
    Pattern{"JBD2: ", Alarm::error, "rror"},
    Pattern{"JBD2: ", Alarm::error, "fail"},
    Pattern{"JBD2: Spotted dirty metadata buffer", Alarm::error},
    Pattern{"Aborting journal on device", Alarm::error},
    Pattern{"XFS (", Alarm::error, "orrupt"},
    Pattern{"XFS (", Alarm::error, "Internal error"},
    Pattern{"XFS (", Alarm::error, "rror "},
    Pattern{"XFS (", Alarm::error, "hutting down"},
    Pattern{"XFS (", Alarm::error, "ailed"},
    Pattern{"XFS (", Alarm::error, "Access to block zero"},
    Pattern{"BTRFS", Alarm::error, "error"},
    Pattern{" error: ", Alarm::error}, // "nova error: ", and so others of its kind
    Pattern{"Buffer I/O error", Alarm::error},
    Pattern{"I/O error, dev ", Alarm::error},
    Pattern{"Memory failure:", Alarm::error},
    Pattern{"hardware memory error", Alarm::error},
};

// "errors=remount-ro" is no error.
bool has(std::string_view text, std::string_view word)
{
    for (std::size_t at = text.find(word); at != std::string_view::npos;
         at = text.find(word, at + 1))
        if (!text.substr(at + word.size()).starts_with("s="))
            return true;
    return false;
}

std::optional<Alarm> alarm_of(const guest::LogRecord &record)
{
    if (guest::tells_crash(record.text))
        return Alarm::crash;
    for (const Pattern &pattern : kPatterns)
        if (has(record.text, pattern.text) && has(record.text, pattern.also))
            return pattern.alarm;
    if (record.priority && *record.priority <= kErrorPriority)
        return Alarm::error;
    return std::nullopt;
}

} // namespace

std::vector<LogAlarm> find_alarms(std::string_view log)
{
    std::vector<LogAlarm> alarms;
    while (!log.empty()) {
        const std::string_view rest = log;
        const std::size_t newline = std::min(log.find('\n'), log.size());
        const guest::LogRecord record = guest::parse_record(log.substr(0, newline));
        log.remove_prefix(std::min(newline + 1, log.size()));
        const auto alarm = alarm_of(record);
        if (!alarm)
            continue;
        // "WARNING: CPU: 0 PID: 57 at file:line function" has all that is wanted but the numbers.
        const std::string whole = with_next_line(record.text, log);
        alarms.push_back({*alarm, whole, without_numbers(whole)});
        if (*alarm == Alarm::crash)
            alarms.back().summary = guest::find_kernel_crash(rest)->title;
    }
    return alarms;
}

std::optional<LogAlarm> find_alarm(std::string_view log, const MaskedLines &masked)
{
    std::optional<LogAlarm> gravest;
    for (LogAlarm &each : find_alarms(log)) {
        if (each.alarm != Alarm::crash && masked.contains(each.summary))
            continue;
        if (!gravest || gravest->alarm < each.alarm)
            gravest = std::move(each);
    }
    return gravest;
}

bool left_records_out(std::string_view log)
{
    return log.find(" callbacks suppressed") != std::string_view::npos;
}

} // namespace fencepost::oracle
