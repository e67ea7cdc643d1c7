// SPDX-License-Identifier: GPL-2.0-or-later
// See ops_words.h.
#include "replayer/run/ops_words.h"

#include <algorithm>
#include <charconv>
#include <span>

#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>

namespace fencepost::run {

namespace {

struct FlagName {
    std::string_view name;
    std::uint64_t value;
};

constexpr FlagName kOpenFlags[] = {
    {"rdonly", O_RDONLY},   {"wronly", O_WRONLY},       {"rdwr", O_RDWR},
    {"creat", O_CREAT},     {"excl", O_EXCL},           {"trunc", O_TRUNC},
    {"append", O_APPEND},   {"direct", O_DIRECT},       {"sync", O_SYNC},
    {"dsync", O_DSYNC},     {"directory", O_DIRECTORY}, {"nofollow", O_NOFOLLOW},
    {"noatime", O_NOATIME}, {"tmpfile", O_TMPFILE},
};
constexpr FlagName kFallocateModes[] = {
    {"0", 0},
    {"keep_size", FALLOC_FL_KEEP_SIZE},
    {"punch_hole", FALLOC_FL_PUNCH_HOLE},
    {"collapse_range", FALLOC_FL_COLLAPSE_RANGE},
    {"zero_range", FALLOC_FL_ZERO_RANGE},
    {"insert_range", FALLOC_FL_INSERT_RANGE},
    {"unshare_range", FALLOC_FL_UNSHARE_RANGE},
};
constexpr FlagName kRenameFlags[] = {
    {"noreplace", RENAME_NOREPLACE}, {"exchange", RENAME_EXCHANGE}, {"whiteout", RENAME_WHITEOUT}};

constexpr unsigned kWordLimit = 64;

std::string lowered(std::string_view text)
{
    std::string result;
    for (const char c : text)
        result += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return result;
}

std::uint64_t flags(const OpsSource &source, const WordLine &line, const Word &word,
                    std::span<const FlagName> names, std::string_view prefix)
{
    std::uint64_t value = 0;
    std::size_t start = 0;
    for (;;) {
        const std::size_t end = std::min(word.text.find('|', start), word.text.size());
        std::string part = lowered(std::string_view(word.text).substr(start, end - start));
        if (part.starts_with(prefix))
            part.erase(0, prefix.size());
        const auto found = std::find_if(names.begin(), names.end(),
                                        [&](const FlagName &flag) { return flag.name == part; });
        if (found == names.end()) {
            std::string list;
            for (const FlagName &flag : names)
                list += (list.empty() ? "" : ", ") + std::string(flag.name);
            source.refuse(line.line, word.column + static_cast<unsigned>(start),
                          "'{}' is none of {}", part, list);
        }
        value |= found->value;
        if (end == word.text.size())
            return value;
        start = end + 1;
    }
}

int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

} // namespace

std::vector<WordLine> OpsSource::lines(bool comments) const
{
    std::vector<WordLine> result;
    std::string_view rest = source_.text;
    for (unsigned line = source_.first_line; !rest.empty(); ++line) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        std::string_view text = rest.substr(0, end);
        rest.remove_prefix(std::min(end + 1, rest.size()));
        if (text.ends_with('\r'))
            text.remove_suffix(1);
        WordLine split_line = split(text, line, comments);
        if (!split_line.words.empty())
            result.push_back(std::move(split_line));
    }
    return result;
}

WordLine OpsSource::split(std::string_view text, unsigned line, bool comments) const
{
    WordLine result;
    result.line = line;
    std::size_t at = 0;
    auto column = [&] { return static_cast<unsigned>(at + 1); };
    for (;;) {
        while (at < text.size() && (text[at] == ' ' || text[at] == '\t'))
            ++at;
        if (at == text.size() || (comments && text[at] == '#'))
            break;
        if (result.words.size() == kWordLimit)
            refuse(line, column(), "a line has at most {} words", kWordLimit);
        Word word;
        word.column = column();
        if (text[at] == '"') {
            word.quoted = true;
            ++at;
            while (at < text.size() && text[at] != '"') {
                char c = text[at++];
                if (c == '\\') {
                    const char escape = at < text.size() ? text[at++] : '\0';
                    const std::string_view digits = text.substr(at, 2);
                    if (escape == 'n')
                        c = '\n';
                    else if (escape == 't')
                        c = '\t';
                    else if (escape == '"' || escape == '\\')
                        c = escape;
                    else if (escape == 'x' && digits.size() == 2 && hex_digit(digits[0]) >= 0 &&
                             hex_digit(digits[1]) >= 0)
                        c = static_cast<char>(hex_digit(digits[0]) * 16 + hex_digit(digits[1])),
                        at += 2;
                    else
                        refuse(line, column() - 1,
                               "a string knows the escapes \\n \\t \\\" \\\\ and \\xHH");
                }
                word.text += c;
            }
            if (at == text.size())
                refuse(line, word.column, "this string has no end");
            ++at;
            if (at < text.size() && text[at] != ' ' && text[at] != '\t')
                refuse(line, column(), "a blank is missing behind the string");
        } else {
            while (at < text.size() && text[at] != ' ' && text[at] != '\t')
                word.text += text[at++];
        }
        result.words.push_back(std::move(word));
    }
    result.end_column = column();
    const std::size_t first = text.find_first_not_of(" \t");
    if (first != std::string_view::npos && at > first)
        result.text = text.substr(first, at - first);
    while (result.text.ends_with(' ') || result.text.ends_with('\t'))
        result.text.pop_back();
    return result;
}

std::uint64_t OpsSource::number(const WordLine &line, const Word &word, std::uint64_t limit) const
{
    std::string_view digits = word.text;
    const int shift = digits.ends_with('K') ? 10 : digits.ends_with('M') ? 20 : 0;
    if (shift != 0)
        digits.remove_suffix(1);
    const bool hex = digits.starts_with("0x");
    if (hex)
        digits.remove_prefix(2);
    std::uint64_t value = 0;
    const char *end = digits.data() + digits.size();
    const auto [rest, error] = std::from_chars(digits.data(), end, value, hex ? 16 : 10);
    if (word.quoted || error != std::errc() || rest != end || value > (limit >> shift))
        refuse(line.line, word.column, "'{}' is not a number from 0 to {}", word.text, limit);
    return value << shift;
}

std::uint64_t OpsSource::octal(const WordLine &line, const Word &word) const
{
    std::uint64_t value = 0;
    const char *end = word.text.data() + word.text.size();
    const auto [rest, error] = std::from_chars(word.text.data(), end, value, 8);
    if (word.quoted || error != std::errc() || rest != end || value > 07777)
        refuse(line.line, word.column, "'{}' is not a mode such as 0644", word.text);
    return value;
}

std::uint64_t OpsSource::open_flags(const WordLine &line, const Word &word) const
{
    return flags(*this, line, word, kOpenFlags, "o_");
}

std::uint64_t OpsSource::fallocate_mode(const WordLine &line, const Word &word) const
{
    return flags(*this, line, word, kFallocateModes, "falloc_fl_");
}

std::uint64_t OpsSource::rename_flags(const WordLine &line, const Word &word) const
{
    return flags(*this, line, word, kRenameFlags, "rename_");
}

} // namespace fencepost::run
