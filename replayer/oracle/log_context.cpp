// SPDX-License-Identifier: GPL-2.0-or-later
// See log_context.h.
#include "replayer/oracle/log_context.h"

#include <cctype>

#include "replayer/guest/judged/kernel_crash.h"

namespace fencepost::oracle {

namespace {

constexpr std::size_t kBefore = 2;
constexpr std::size_t kAfter = 5;

std::string_view trimmed(std::string_view text)
{
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())))
        text.remove_suffix(1);
    return text;
}

} // namespace

std::string with_next_line(std::string_view text, std::string_view rest)
{
    const std::string_view next = trimmed(guest::take_record(rest).text);
    if (!trimmed(text).ends_with(':') || next.empty())
        return std::string(text);
    return std::string(trimmed(text)) + " " + std::string(next);
}

std::vector<std::string> neighbours_of(std::string_view log, std::string_view text)
{
    std::vector<std::string> lines;
    std::size_t found = SIZE_MAX;
    while (!log.empty() && (found == SIZE_MAX || lines.size() <= found + kAfter)) {
        const std::string_view line = guest::take_record(log).text;
        if (found == SIZE_MAX && with_next_line(line, log) == text)
            found = lines.size();
        lines.emplace_back(line);
    }
    if (found == SIZE_MAX)
        return {};
    lines.erase(lines.begin(),
                lines.begin() + static_cast<std::ptrdiff_t>(found > kBefore ? found - kBefore : 0));
    return lines;
}

} // namespace fencepost::oracle
