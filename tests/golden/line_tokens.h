// SPDX-License-Identifier: GPL-2.0-or-later
// The words of one line of a trace text, taken one after the other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fencepost::golden {

struct Token {
    std::string text;    // of a string: its contents
    bool quoted = false; // a "string"
    std::size_t column = 0;
};

// Splits a line into words, strings in quotes (escapes: \" \\ \n \t \xNN), and the characters
// = ( ) , each on its own. A # starts a comment.
class LineTokens {
public:
    LineTokens(std::string_view line, std::string_view name, std::size_t number);

    bool at_end() const { return next_ == tokens_.size(); }
    // The next word if it is exactly this, or if it starts with this character (the rest of it is
    // returned), or if it is this character and a number.
    bool take(std::string_view word);
    std::optional<std::string> take_prefixed(char prefix);
    std::optional<std::uint64_t> take_numbered(char prefix);
    std::optional<std::string> take_string();
    bool next_is_number() const;

    std::string word(const char *what);
    std::string quoted(const char *what);
    std::uint64_t number(const char *what);
    std::int64_t signed_number(const char *what);
    void expect(std::string_view word);
    void expect_end();

    // Complains about the token that was taken last.
    [[noreturn]] void fail_here(const std::string &message) const;

private:
    const Token &take_any(const char *what);

    std::string place_;
    std::vector<Token> tokens_;
    std::size_t next_ = 0;
    std::size_t end_column_ = 0;
};

// A number: decimal or 0x…, perhaps with K, M or G after it.
std::optional<std::uint64_t> parse_number(std::string_view text);

} // namespace fencepost::golden
