// SPDX-License-Identifier: GPL-2.0-or-later
// Records of a kernel's log or console, and the crash that they tell.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fencepost::guest {

// A record of the kernel log, as the agent sends it ("priority,sequence,microseconds,flags;text")
// or as a console shows it ("[    1.234567] text", or the text alone).
struct LogRecord {
    std::string_view text;
    // With the facility, which is 0 for the kernel: what processes write to its log is no error of
    // the kernel. Nothing: a line of a console.
    std::optional<unsigned> priority;
    std::optional<std::uint64_t> sequence;
};

LogRecord parse_record(std::string_view line);
// The first line, which is taken off the log.
LogRecord take_record(std::string_view &log);

struct KernelCrash {
    std::string line;               // that told it first, as it was logged
    std::string title;              // the same whenever the same thing went wrong
    std::string function;           // in which; empty: the log does not say
    std::vector<std::string> stack; // "function+0x12/0x34 [module]", the innermost first
    bool complete = false;          // the kernel said that this was all
};

// The first one; nothing: there was none.
std::optional<KernelCrash> find_kernel_crash(std::string_view log);

// The lines of records that came after this one. Lines without a number go with the one before.
std::string records_after(std::string_view log, std::uint64_t sequence);
// The number of the last record; 0: there is none with a number.
std::uint64_t last_sequence(std::string_view log);
// The text of the last line that the kernel wrote; empty: none.
std::string last_kernel_words(std::string_view log);

// A text with other words: each run of letters and digits is changed.
std::string change_words(std::string_view text,
                         const std::function<std::string(std::string_view)> &change);
// A text in which every number is '#': decimal, hexadecimal with 0x or without, and those within
// and behind words, but for names such as ext4 and pmem0.
std::string without_numbers(std::string_view text);

} // namespace fencepost::guest
