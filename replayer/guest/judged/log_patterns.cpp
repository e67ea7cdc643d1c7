// SPDX-License-Identifier: GPL-2.0-or-later
// See log_patterns.h.
#include "replayer/guest/judged/log_patterns.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace fencepost::guest {

namespace {

enum class Place {
    anywhere,
    word,  // not within one: "DEBUG: " is no "BUG: "
    start, // of the line, but for what is in brackets before it
};

struct LogPattern {
    std::string_view text;
    Alarm alarm;
    std::string_view also = {}; // and this too, anywhere in the line
    Place place = Place::anywhere;
};

// The first that matches counts.
constexpr std::array kPatterns = {
    LogPattern{kPanic, Alarm::crash},
    LogPattern{"kernel BUG at", Alarm::crash},
    LogPattern{"BUG: ", Alarm::crash, {}, Place::word},
    LogPattern{"Oops: ", Alarm::crash, {}, Place::word},
    // As die() has them. Of a process that is killed for them: "traps: prog[57] general protection
    // fault ip:...".
    LogPattern{"general protection fault: ", Alarm::crash, {}, Place::start},
    LogPattern{"general protection fault, ", Alarm::crash, {}, Place::start},
    LogPattern{"divide error: ", Alarm::crash, {}, Place::start},
    LogPattern{"invalid opcode: ", Alarm::crash, {}, Place::start},
    LogPattern{"stack segment: ", Alarm::crash, {}, Place::start},
    LogPattern{"PANIC: double fault", Alarm::crash},
    LogPattern{"hard LOCKUP", Alarm::crash},
    LogPattern{"Unable to handle kernel", Alarm::crash},
    LogPattern{"soft lockup", Alarm::crash},
    LogPattern{"XFS: Assertion failed", Alarm::crash},
    LogPattern{"UBSAN: ", Alarm::warning},
    LogPattern{"WARNING: ", Alarm::warning},
    LogPattern{"INFO: task ", Alarm::warning, "blocked for more than"},
    LogPattern{"INFO: rcu", Alarm::warning, "stall"},
    LogPattern{"possible circular locking dependency", Alarm::warning},
    LogPattern{"possible recursive locking", Alarm::warning},
    LogPattern{"inconsistent lock state", Alarm::warning},
    LogPattern{"suspicious RCU usage", Alarm::warning},
    LogPattern{"bad unlock balance", Alarm::warning},
    LogPattern{"INFO: trying to register non-static key", Alarm::warning},
    // It keeps the super block, and may crash when the inodes go.
    LogPattern{"VFS: Busy inodes after unmount", Alarm::warning},
    LogPattern{"EXT2-fs", Alarm::error, "error"},
    LogPattern{"EXT4-fs", Alarm::error, "error"},
    LogPattern{"EXT4-fs warning", Alarm::error},
    LogPattern{"EXT4-fs (", Alarm::error, "failed"},
    LogPattern{"EXT4-fs (", Alarm::error, "not cleared"},
    LogPattern{"EXT4-fs (", Alarm::error, "corrupt"},
    LogPattern{"JBD2: ", Alarm::error, "rror"},
    LogPattern{"JBD2: ", Alarm::error, "fail"},
    LogPattern{"JBD2: Spotted dirty metadata buffer", Alarm::error},
    LogPattern{"Aborting journal on device", Alarm::error},
    LogPattern{"XFS (", Alarm::error, "orrupt"},
    LogPattern{"XFS (", Alarm::error, "Internal error"},
    LogPattern{"XFS (", Alarm::error, "rror "},
    LogPattern{"XFS (", Alarm::error, "hutting down"},
    LogPattern{"XFS (", Alarm::error, "ailed"},
    LogPattern{"XFS (", Alarm::error, "Access to block zero"},
    LogPattern{"BTRFS", Alarm::error, "error"},
    LogPattern{" error: ", Alarm::error}, // "nova error: ", and so others of its kind
    LogPattern{"Buffer I/O error", Alarm::error},
    LogPattern{"I/O error, dev ", Alarm::error},
    LogPattern{"Memory failure:", Alarm::error},
    LogPattern{"hardware memory error", Alarm::error},
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

bool has_word(std::string_view text, std::string_view word)
{
    for (std::size_t at = text.find(word); at != std::string_view::npos;
         at = text.find(word, at + 1))
        if (at == 0 || !std::isalnum(static_cast<unsigned char>(text[at - 1])))
            return true;
    return false;
}

// With CONFIG_PRINTK_CALLER a console shows who spoke: "[    T57] ".
std::string_view without_brackets(std::string_view text)
{
    const std::size_t end = text.find("] ");
    return text.starts_with('[') && end != std::string_view::npos ? text.substr(end + 2) : text;
}

bool is_placed(const LogPattern &pattern, std::string_view text)
{
    switch (pattern.place) {
    case Place::anywhere:
        return has(text, pattern.text);
    case Place::word:
        return has_word(text, pattern.text);
    case Place::start:
        return without_brackets(text).starts_with(pattern.text);
    }
    return false;
}

bool matches(const LogPattern &pattern, const LogRecord &record)
{
    const bool of_kernel = !record.priority || *record.priority < 8;
    return (of_kernel || pattern.alarm != Alarm::crash) && is_placed(pattern, record.text) &&
           has(record.text, pattern.also);
}

} // namespace

std::optional<Alarm> alarm_of(const LogRecord &record)
{
    for (const LogPattern &pattern : kPatterns)
        if (matches(pattern, record))
            return pattern.alarm;
    return std::nullopt;
}

bool tells_crash(const LogRecord &record)
{
    return std::any_of(kPatterns.begin(), kPatterns.end(), [&](const LogPattern &pattern) {
        return pattern.alarm == Alarm::crash && matches(pattern, record);
    });
}

bool left_records_out(std::string_view log)
{
    return log.find(" callbacks suppressed") != std::string_view::npos;
}

} // namespace fencepost::guest
