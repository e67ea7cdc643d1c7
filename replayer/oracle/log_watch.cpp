// SPDX-License-Identifier: GPL-2.0-or-later
// See log_watch.h.
#include "replayer/oracle/log_watch.h"

#include <algorithm>
#include <cctype>

#include "replayer/oracle/log_context.h"

namespace fencepost::oracle {

namespace {

constexpr unsigned kErrorPriority = 3; // KERN_ERR; smaller is worse

std::optional<Alarm> alarm_by_words_or_priority(const guest::LogRecord &record)
{
    if (const auto alarm = guest::alarm_of(record))
        return alarm;
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
        const guest::LogRecord record = guest::take_record(log);
        const auto alarm = alarm_by_words_or_priority(record);
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

std::string mask_key(std::string_view summary)
{
    return guest::change_words(summary, [](std::string_view word) {
        const bool may_be_number =
            std::all_of(word.begin(), word.end(), [](unsigned char c) { return std::isxdigit(c); });
        return may_be_number ? "#" : std::string(word);
    });
}

std::optional<LogAlarm> find_alarm(std::string_view log, const MaskedLines &masked)
{
    std::optional<LogAlarm> gravest;
    for (LogAlarm &each : find_alarms(log)) {
        if (each.alarm != Alarm::crash && masked.contains(mask_key(each.summary)))
            continue;
        if (!gravest || gravest->alarm < each.alarm)
            gravest = std::move(each);
    }
    return gravest;
}

} // namespace fencepost::oracle
