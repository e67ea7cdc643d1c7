// SPDX-License-Identifier: GPL-2.0-or-later
// See text_lines.h.
#include "analyzer/rules/text_lines.h"

#include <fnmatch.h>

#include "base/files.h"

namespace fencepost::rules {

namespace {

constexpr std::string_view kSpace = " \t\r";

void split_words(std::string_view text, TextLine &line)
{
    std::size_t at = 0;
    while ((at = text.find_first_not_of(kSpace, at)) != text.npos && text[at] != '#') {
        std::string word;
        for (; at < text.size() && kSpace.find(text[at]) == kSpace.npos && text[at] != '#'; ++at) {
            if (text[at] != '"') {
                word += text[at];
                continue;
            }
            const std::size_t end = text.find('"', at + 1);
            if (end == text.npos)
                line.refuse("a quote has no end");
            word += text.substr(at + 1, end - at - 1);
            at = end;
        }
        line.words.push_back(std::move(word));
    }
}

} // namespace

std::vector<TextLine> split_lines(std::string_view text, std::string_view name,
                                  const std::filesystem::path &directory)
{
    std::vector<TextLine> lines;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::size_t end = text.find('\n');
        TextLine line = {fmt::format("{}:{}", name, number), {}, directory};
        split_words(text.substr(0, end), line);
        if (!line.words.empty())
            lines.push_back(std::move(line));
        text.remove_prefix(end == text.npos ? text.size() : end + 1);
    }
    return lines;
}

std::vector<TextLine> read_lines(const std::filesystem::path &file)
{
    return split_lines(read_named_file(file), file.string(), file.parent_path());
}

std::pair<std::string, std::string> split_assignment(const std::string &word)
{
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos)
        return {"", word};
    return {word.substr(0, equals), word.substr(equals + 1)};
}

bool matches_glob(const std::string &glob, const std::string &text)
{
    return fnmatch(glob.c_str(), text.c_str(), 0) == 0;
}

} // namespace fencepost::rules
