// SPDX-License-Identifier: GPL-2.0-or-later
// See line_tokens.h.
#include "tests/golden/line_tokens.h"

#include <charconv>

#include "base/error.h"

namespace fencepost::golden {

namespace {

constexpr std::string_view kSpace = " \t\r";
constexpr std::string_view kAlone = "=(),";

bool ends_word(char c)
{
    return kSpace.find(c) != std::string_view::npos || kAlone.find(c) != std::string_view::npos ||
           c == '"' || c == '#';
}

// The character after a backslash at `at`, which moves past it; nothing when there is no such
// escape.
std::optional<char> unescape(std::string_view line, std::size_t &at)
{
    const char c = at < line.size() ? line[at++] : '\0';
    switch (c) {
    case '"':
    case '\\':
        return c;
    case 'n':
        return '\n';
    case 't':
        return '\t';
    case 'x': {
        unsigned value = 0;
        const std::string_view digits = line.substr(at, 2);
        const auto [end, error] =
            std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
        if (error != std::errc() || end != digits.data() + 2)
            return std::nullopt;
        at += 2;
        return static_cast<char>(value);
    }
    default:
        return std::nullopt;
    }
}

} // namespace

std::optional<std::uint64_t> parse_number(std::string_view text)
{
    const bool hex = text.starts_with("0x");
    if (hex)
        text.remove_prefix(2);
    std::uint64_t scale = 1;
    if (!hex && !text.empty()) {
        const std::size_t unit = std::string_view("KMG").find(text.back());
        if (unit != std::string_view::npos) {
            scale = 1024ull << 10 * unit;
            text.remove_suffix(1);
        }
    }
    std::uint64_t value = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
    if (text.empty() || error != std::errc() || end != text.data() + text.size() ||
        value > UINT64_MAX / scale)
        return std::nullopt;
    return value * scale;
}

LineTokens::LineTokens(std::string_view line, std::string_view name, std::size_t number)
    : place_(fmt::format("{}:{}", name, number)), end_column_(line.size() + 1)
{
    std::size_t at = 0;
    while ((at = line.find_first_not_of(kSpace, at)) != std::string_view::npos && line[at] != '#') {
        Token token = {.text = {}, .column = at + 1};
        if (line[at] == '"') {
            token.quoted = true;
            for (++at; at < line.size() && line[at] != '"';) {
                if (line[at] != '\\') {
                    token.text += line[at++];
                    continue;
                }
                const std::size_t column = ++at;
                const auto c = unescape(line, at);
                if (!c)
                    fail(ErrorKind::usage, "{}:{}: the escapes are \\\" \\\\ \\n \\t \\xNN", place_,
                         column);
                token.text += *c;
            }
            if (at++ == line.size())
                fail(ErrorKind::usage, "{}:{}: the string has no end", place_, token.column);
        } else if (kAlone.find(line[at]) != std::string_view::npos) {
            token.text = line[at++];
        } else {
            while (at < line.size() && !ends_word(line[at]))
                token.text += line[at++];
        }
        tokens_.push_back(std::move(token));
    }
}

void LineTokens::fail_here(const std::string &message) const
{
    const std::size_t column = next_ ? tokens_[next_ - 1].column : 1;
    fail(ErrorKind::usage, "{}:{}: {}", place_, column, message);
}

bool LineTokens::take(std::string_view word)
{
    if (at_end() || tokens_[next_].quoted || tokens_[next_].text != word)
        return false;
    ++next_;
    return true;
}

std::optional<std::string> LineTokens::take_prefixed(char prefix)
{
    if (at_end() || tokens_[next_].quoted || !tokens_[next_].text.starts_with(prefix))
        return std::nullopt;
    return tokens_[next_++].text.substr(1);
}

std::optional<std::uint64_t> LineTokens::take_numbered(char prefix)
{
    if (at_end() || tokens_[next_].quoted || !tokens_[next_].text.starts_with(prefix))
        return std::nullopt;
    const auto number = parse_number(std::string_view(tokens_[next_].text).substr(1));
    next_ += number.has_value();
    return number;
}

std::optional<std::string> LineTokens::take_string()
{
    if (at_end() || !tokens_[next_].quoted)
        return std::nullopt;
    return tokens_[next_++].text;
}

bool LineTokens::next_is_number() const
{
    return !at_end() && !tokens_[next_].quoted && parse_number(tokens_[next_].text);
}

const Token &LineTokens::take_any(const char *what)
{
    if (at_end())
        fail(ErrorKind::usage, "{}:{}: {} is missing", place_, end_column_, what);
    return tokens_[next_++];
}

std::string LineTokens::word(const char *what)
{
    const Token &token = take_any(what);
    if (token.quoted || kAlone.find(token.text) != std::string_view::npos)
        fail_here(fmt::format("{} is expected here, not '{}'", what, token.text));
    return token.text;
}

std::string LineTokens::quoted(const char *what)
{
    const Token &token = take_any(what);
    if (!token.quoted)
        fail_here(fmt::format("{} is expected here, in quotes", what));
    return token.text;
}

std::uint64_t LineTokens::number(const char *what)
{
    const std::string text = word(what);
    const auto value = parse_number(text);
    if (!value)
        fail_here(fmt::format("{} is a number, not '{}'", what, text));
    return *value;
}

std::int64_t LineTokens::signed_number(const char *what)
{
    const std::string text = word(what);
    const bool negative = text.starts_with('-');
    const auto value = parse_number(std::string_view(text).substr(negative));
    if (!value)
        fail_here(fmt::format("{} is a number, not '{}'", what, text));
    return static_cast<std::int64_t>(negative ? -*value : *value);
}

void LineTokens::expect(std::string_view word)
{
    const std::string what = fmt::format("'{}'", word);
    const Token &token = take_any(what.c_str());
    if (token.quoted || token.text != word)
        fail_here(fmt::format("{} is expected here, not '{}'", what, token.text));
}

void LineTokens::expect_end()
{
    if (at_end())
        return;
    const Token &token = take_any("nothing");
    fail_here(fmt::format("'{}' is too much here", token.text));
}

} // namespace fencepost::golden
