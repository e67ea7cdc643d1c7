// SPDX-License-Identifier: GPL-2.0-or-later
// The files that users write for the rules: a statement a line, words, `#` starts a comment, quotes
// hold spaces.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace fencepost::rules {

struct TextLine {
    std::string place;              // FILE:LINE
    std::vector<std::string> words; // at least one
    // Where relative names of files in it start.
    std::filesystem::path directory = {};

    template <typename... Args>
    [[noreturn]] void refuse(fmt::format_string<Args...> format, Args &&...args) const
    {
        fail(ErrorKind::usage, "{}: {}", place, fmt::format(format, std::forward<Args>(args)...));
    }
};

// Lines that say something. A quote without an end is an Error(usage) with its place.
std::vector<TextLine> split_lines(std::string_view text, std::string_view name,
                                  const std::filesystem::path &directory = {});
// Likewise for a file; one that cannot be read is an Error(usage).
std::vector<TextLine> read_lines(const std::filesystem::path &file);

// KEY=VALUE; the key is empty where there is no '='.
std::pair<std::string, std::string> split_assignment(const std::string &word);
bool matches_glob(const std::string &glob, const std::string &text);

} // namespace fencepost::rules
