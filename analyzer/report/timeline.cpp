// SPDX-License-Identifier: GPL-2.0-or-later
// See timeline.h.
#include "analyzer/report/timeline.h"

namespace fencepost::report {

std::string_view name_of(Fate fate)
{
    switch (fate) {
    case Fate::none:
        break;
    case Fate::guaranteed:
        return "guaranteed";
    case Fate::persisted:
        return "persisted";
    case Fate::partly:
        return "partly_persisted";
    case Fate::lost:
        return "lost";
    case Fate::not_executed:
        return "not_executed";
    }
    return "";
}

std::string words_of(const TimelineRow &row)
{
    const std::string in_flight = row.flushed ? "flushed, no fence: " : "in flight: ";
    switch (row.fate) {
    case Fate::none:
        break;
    case Fate::guaranteed:
        return "guaranteed";
    case Fate::persisted:
        return in_flight + "persisted";
    case Fate::partly:
        return in_flight + "partly persisted";
    case Fate::lost:
        return in_flight + "lost";
    case Fate::not_executed:
        return "not executed";
    }
    return "";
}

std::string bytes_text(std::string_view hexadecimal)
{
    std::string ascii;
    for (std::size_t i = 0; i + 1 < hexadecimal.size(); i += 2) {
        const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
        const int value = digit(hexadecimal[i]) * 16 + digit(hexadecimal[i + 1]);
        if (value < 0x20 || value > 0x7e)
            return std::string(hexadecimal);
        ascii += static_cast<char>(value);
    }
    return ascii.empty() ? "" : "\"" + ascii + "\"";
}

} // namespace fencepost::report
