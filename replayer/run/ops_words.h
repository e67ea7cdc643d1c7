// SPDX-License-Identifier: GPL-2.0-or-later
// Lines of words with their places: what `ops` and j-lang have in common.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "replayer/run/spec.h"

namespace fencepost::run {

struct Word {
    std::string text;
    unsigned column = 1;
    bool quoted = false;
};

// One line of a source text that is not empty, without its comment.
struct WordLine {
    std::vector<Word> words;
    std::string text; // as written, without blanks around it
    unsigned line = 1;
    unsigned end_column = 1;
};

// Throws usage errors `NAME:LINE:COLUMN: …` about a source text.
class OpsSource {
public:
    explicit OpsSource(const SourceText &source) : source_(source) {}

    // `comments`: a word that starts with # ends the line.
    std::vector<WordLine> lines(bool comments) const;

    template <typename... Args>
    [[noreturn]] void refuse(unsigned line, unsigned column, fmt::format_string<Args...> format,
                             Args &&...args) const
    {
        fail(ErrorKind::usage, "{}:{}:{}: {}", source_.name, line, column,
             fmt::format(format, std::forward<Args>(args)...));
    }

    // Decimal, 0x…, with K or M; at most `limit`.
    std::uint64_t number(const WordLine &line, const Word &word, std::uint64_t limit) const;
    std::uint64_t octal(const WordLine &line, const Word &word) const;
    // Names joined by '|', with or without the prefix of their C constants.
    std::uint64_t open_flags(const WordLine &line, const Word &word) const;
    std::uint64_t fallocate_mode(const WordLine &line, const Word &word) const;
    std::uint64_t rename_flags(const WordLine &line, const Word &word) const;

private:
    WordLine split(std::string_view text, unsigned line, bool comments) const;

    const SourceText &source_;
};

} // namespace fencepost::run
