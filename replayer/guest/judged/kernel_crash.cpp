// SPDX-License-Identifier: GPL-2.0-or-later
// See kernel_crash.h.
#include "replayer/guest/judged/kernel_crash.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "replayer/guest/judged/log_patterns.h"

namespace fencepost::guest {

namespace {

constexpr std::size_t kMostFrames = 64;

bool is_digit(char c)
{
    return std::isdigit(static_cast<unsigned char>(c));
}

bool is_hex(char c)
{
    return std::isxdigit(static_cast<unsigned char>(c));
}

bool is_alnum(char c)
{
    return std::isalnum(static_cast<unsigned char>(c));
}

// Words whose digits say what it is, not which one.
bool is_name(std::string_view word)
{
    constexpr std::array<std::string_view, 20> kNames = {
        "ext2", "ext3", "ext4", "jbd2", "f2fs", "e2fsck", "crc32", "crc32c", "x86",  "u8",
        "u16",  "u32",  "u64",  "le16", "le32", "le64",   "be16",  "be32",   "be64", "sha256"};
    std::string small(word);
    std::transform(small.begin(), small.end(), small.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    // PM is always the same device of a guest.
    return small.starts_with("pmem") ||
           std::find(kNames.begin(), kNames.end(), small) != kNames.end();
}

std::string word_without_numbers(std::string_view word)
{
    if (is_name(word))
        return std::string(word);
    const std::string_view digits = word.starts_with("0x") ? word.substr(2) : word;
    if (std::any_of(word.begin(), word.end(), is_digit) &&
        std::all_of(digits.begin(), digits.end(), is_hex))
        return "#";
    std::string result;
    for (std::size_t at = 0; at < word.size(); ++at) {
        if (!is_digit(word[at]))
            result += word[at];
        else if (at == 0 || !is_digit(word[at - 1]))
            result += '#';
    }
    return result;
}

std::string_view trimmed(std::string_view text)
{
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())))
        text.remove_prefix(1);
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())))
        text.remove_suffix(1);
    return text;
}

// "[    1.234567] " in front of what a console shows; with CONFIG_PRINTK_CALLER "[    T57] " too.
std::string_view without_time(std::string_view text)
{
    const std::size_t end = text.find(']');
    if (!text.starts_with('[') || end == std::string_view::npos)
        return text;
    const std::string_view inside = trimmed(text.substr(1, end - 1));
    const bool time = !inside.empty() && std::all_of(inside.begin(), inside.end(), [](char c) {
        return is_digit(c) || c == '.';
    });
    return time ? trimmed(text.substr(end + 1)) : text;
}

// "function+0x12/0x34 [module]", which is also how unreliable frames begin, after "? ".
bool is_frame(std::string_view text)
{
    const std::size_t plus = text.find("+0x");
    const std::size_t slash = text.find("/0x");
    return plus != std::string_view::npos && slash != std::string_view::npos && plus < slash &&
           text.find(' ') > slash;
}

// Takes a crash's lines in, one after the other.
class CrashReader {
public:
    // False: the kernel has told all.
    bool take(std::string_view text)
    {
        if (crash_.function.empty())
            crash_.function = function_in(text);
        if (text.starts_with("Call Trace:") || text.starts_with("Call trace:")) {
            in_stack_ = crash_.stack.empty();
        } else if (in_stack_) {
            take_frame(text);
        }
        crash_.complete = text.find("---[ end ") != std::string_view::npos;
        return !crash_.complete;
    }

    KernelCrash take_crash(std::string_view line)
    {
        crash_.line = std::string(line);
        crash_.title = without_numbers(line);
        // Where the log has no RIP, as of a panic, the stack begins with what tells it.
        if (!crash_.function.empty())
            crash_.title += " in " + crash_.function;
        return std::move(crash_);
    }

private:
    // "RIP: 0010:name+0x12/0x34", without its offset.
    static std::string function_in(std::string_view text)
    {
        constexpr std::string_view kStart = "RIP: 0010:";
        const std::size_t at = text.find(kStart);
        if (at == std::string_view::npos)
            return {};
        const std::string_view rest = text.substr(at + kStart.size());
        return std::string(rest.substr(0, std::min(rest.find('+'), rest.find(' '))));
    }

    void take_frame(std::string_view text)
    {
        if (text == "<TASK>" || text == "<IRQ>" || text == "</IRQ>" || text == "<NMI>" ||
            text == "</NMI>" || text == "<#DF>" || text == "</#DF>" || text.starts_with("? ") ||
            text.starts_with("RIP:") || text.starts_with("RSP:"))
            return;
        if (is_frame(text) && crash_.stack.size() < kMostFrames)
            crash_.stack.emplace_back(text);
        else
            in_stack_ = false;
    }

    KernelCrash crash_;
    bool in_stack_ = false;
};

std::string_view take_line(std::string_view &log)
{
    const std::size_t newline = std::min(log.find('\n'), log.size());
    std::string_view line = log.substr(0, newline);
    log.remove_prefix(std::min(newline + 1, log.size()));
    if (line.ends_with('\r'))
        line.remove_suffix(1);
    return line;
}

} // namespace

LogRecord parse_record(std::string_view line)
{
    const std::size_t semicolon = line.find(';');
    LogRecord record = {without_time(line), {}, {}};
    unsigned priority = 0;
    const char *const end = line.data() + line.size();
    const auto first = std::from_chars(line.data(), end, priority);
    if (semicolon == std::string_view::npos || first.ec != std::errc() ||
        std::count(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(semicolon), ',') < 3)
        return record;
    record = {line.substr(semicolon + 1), priority, {}};
    std::uint64_t sequence = 0;
    if (first.ptr != end && std::from_chars(first.ptr + 1, end, sequence).ec == std::errc())
        record.sequence = sequence;
    return record;
}

LogRecord take_record(std::string_view &log)
{
    return parse_record(take_line(log));
}

std::optional<KernelCrash> find_kernel_crash(std::string_view log)
{
    while (!log.empty()) {
        const LogRecord first = take_record(log);
        if (!tells_crash(first))
            continue;
        CrashReader reader;
        while (!log.empty() && reader.take(trimmed(take_record(log).text))) {
        }
        return reader.take_crash(first.text);
    }
    return std::nullopt;
}

std::string records_after(std::string_view log, std::uint64_t sequence)
{
    std::string result;
    bool wanted = false;
    while (!log.empty()) {
        const std::string_view line = take_line(log);
        if (const auto number = parse_record(line).sequence)
            wanted = *number > sequence;
        if (!wanted)
            continue;
        result += line;
        result += '\n';
    }
    return result;
}

std::uint64_t last_sequence(std::string_view log)
{
    std::uint64_t last = 0;
    while (!log.empty())
        last = std::max(last, take_record(log).sequence.value_or(0));
    return last;
}

std::string last_kernel_words(std::string_view log)
{
    std::string last;
    while (!log.empty()) {
        const LogRecord record = take_record(log);
        if (record.priority && *record.priority < 8 && !trimmed(record.text).empty())
            last = std::string(record.text);
    }
    return last;
}

std::string change_words(std::string_view text,
                         const std::function<std::string(std::string_view)> &change)
{
    std::string result;
    while (!text.empty()) {
        const auto end = std::find_if_not(text.begin(), text.end(), is_alnum);
        const auto length = static_cast<std::size_t>(end - text.begin());
        result += length == 0 ? std::string(1, text.front()) : change(text.substr(0, length));
        text.remove_prefix(std::max<std::size_t>(length, 1));
    }
    return result;
}

std::string without_numbers(std::string_view text)
{
    return change_words(text, word_without_numbers);
}

} // namespace fencepost::guest
