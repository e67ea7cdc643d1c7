// SPDX-License-Identifier: GPL-2.0-or-later
// See log_watch.h.
#include "replayer/oracle/log_watch.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

namespace fencepost::oracle {

namespace {

struct Pattern {
    std::string_view text; // anywhere in the line
    Alarm alarm;
    std::string_view also = {}; // and this too
};

constexpr unsigned kErrorPriority = 3; // KERN_ERR; smaller is worse

constexpr std::array kPatterns = {
    Pattern{"Kernel panic - not syncing", Alarm::crash},
    Pattern{"kernel BUG at", Alarm::crash},
    Pattern{"BUG: ", Alarm::crash},
    Pattern{"Oops: ", Alarm::crash},
    Pattern{"general protection fault", Alarm::crash},
    Pattern{"divide error:", Alarm::crash},
    Pattern{"invalid opcode:", Alarm::crash},
    Pattern{"stack segment:", Alarm::crash},
    Pattern{"PANIC: double fault", Alarm::crash},
    Pattern{"hard LOCKUP", Alarm::crash},
    Pattern{"Unable to handle kernel", Alarm::crash},
    Pattern{"UBSAN: ", Alarm::warning},
    Pattern{"WARNING: ", Alarm::warning},
    Pattern{"INFO: task ", Alarm::warning, "blocked for more than"},
    Pattern{"INFO: rcu", Alarm::warning, "stall"},
    Pattern{"soft lockup", Alarm::crash},
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
    Pattern{"XFS: Assertion failed", Alarm::crash},
    Pattern{"Buffer I/O error", Alarm::error},
    Pattern{"I/O error, dev ", Alarm::error},
    Pattern{"Memory failure:", Alarm::error},
    Pattern{"hardware memory error", Alarm::error},
};

struct Record {
    std::string_view text;
    // With the facility, which is 0 for the kernel: what processes write to its log is no error of
    // the kernel. Nothing: a plain line.
    std::optional<unsigned> priority;
};

Record record_of(std::string_view line)
{
    const std::size_t semicolon = line.find(';');
    Record record = {line, {}};
    unsigned priority = 0;
    const auto number = std::from_chars(line.data(), line.data() + line.size(), priority);
    if (semicolon == std::string_view::npos || number.ec != std::errc() ||
        std::count(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(semicolon), ',') < 3)
        return record;
    return {line.substr(semicolon + 1), priority};
}

// "errors=remount-ro" is no error.
bool has(std::string_view text, std::string_view word)
{
    for (std::size_t at = text.find(word); at != std::string_view::npos;
         at = text.find(word, at + 1))
        if (!text.substr(at + word.size()).starts_with("s="))
            return true;
    return false;
}

std::optional<Alarm> alarm_of(const Record &record)
{
    for (const Pattern &pattern : kPatterns)
        if (has(record.text, pattern.text) && has(record.text, pattern.also))
            return pattern.alarm;
    if (record.priority && *record.priority <= kErrorPriority)
        return Alarm::error;
    return std::nullopt;
}

// The function in "RIP: 0010:name+0x12/0x34", without its offset.
std::string function_of(std::string_view text)
{
    constexpr std::string_view kStart = "RIP: 0010:";
    const std::size_t at = text.find(kStart);
    if (at == std::string_view::npos)
        return {};
    const std::string_view rest = text.substr(at + kStart.size());
    return std::string(rest.substr(0, std::min(rest.find('+'), rest.find(' '))));
}

bool is_hex(char c)
{
    return std::isxdigit(static_cast<unsigned char>(c));
}

} // namespace

std::string without_numbers(std::string_view text)
{
    std::string result;
    for (std::size_t at = 0; at < text.size();) {
        std::size_t end = at;
        while (end < text.size() && is_hex(text[end]))
            ++end;
        const bool prefixed = text.substr(at).starts_with("0x");
        if (prefixed)
            for (end = at + 2; end < text.size() && is_hex(text[end]);)
                ++end;
        const std::string_view word = text.substr(at, end - at);
        const bool starts_word = at == 0 || !std::isalnum(static_cast<unsigned char>(text[at - 1]));
        // Addresses without 0x are long; "dead" and "ext4" are words.
        const bool address =
            starts_word && word.size() >= 8 && std::any_of(word.begin(), word.end(), [](char c) {
                return std::isdigit(static_cast<unsigned char>(c));
            });
        if (prefixed || address) {
            result += '#';
            at = end;
        } else if (std::isdigit(static_cast<unsigned char>(text[at]))) {
            const bool part_of_word =
                !starts_word && std::isalpha(static_cast<unsigned char>(text[at - 1]));
            end = at;
            while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])))
                ++end;
            result += part_of_word ? std::string(text.substr(at, end - at)) : "#";
            at = end;
        } else {
            result += text[at++];
        }
    }
    return result;
}

std::optional<LogAlarm> find_alarm(std::string_view log)
{
    std::optional<LogAlarm> gravest;
    bool wants_function = false;
    while (!log.empty()) {
        const std::size_t newline = std::min(log.find('\n'), log.size());
        const Record record = record_of(log.substr(0, newline));
        const std::string_view text = record.text;
        log.remove_prefix(std::min(newline + 1, log.size()));
        if (wants_function) {
            const std::string function = function_of(text);
            if (!function.empty()) {
                gravest->summary += " in " + function;
                wants_function = false;
            }
        }
        const auto alarm = alarm_of(record);
        if (!alarm || (gravest && gravest->alarm >= *alarm))
            continue;
        std::string summary = without_numbers(text);
        // "WARNING: CPU: 0 PID: 57 at file:line function" has all that is wanted but the numbers.
        gravest = {*alarm, std::string(text), summary};
        wants_function = *alarm == Alarm::crash;
    }
    return gravest;
}

} // namespace fencepost::oracle
