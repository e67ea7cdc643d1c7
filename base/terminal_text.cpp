// SPDX-License-Identifier: GPL-2.0-or-later
// See terminal_text.h.
#include "base/terminal_text.h"

#include <fmt/core.h>

namespace fencepost {

namespace {

// How many bytes the UTF-8 character at `at` has; 0 when it is none, or one that is not printed.
std::size_t printable(std::string_view text, std::size_t at)
{
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned first = byte(at);
    if (first < 0x80)
        return first >= 0x20 && first != 0x7f;
    const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || at + size > text.size())
        return 0;
    for (std::size_t i = 1; i < size; ++i)
        if ((byte(at + i) & 0xc0) != 0x80)
            return 0;
    // U+0080 to U+009F are controls of a terminal as well.
    return first == 0xc2 && byte(at + 1) < 0xa0 ? 0 : size;
}

} // namespace

std::string terminal_text(std::string_view text)
{
    std::string safe;
    for (std::size_t at = 0; at < text.size();) {
        if (const std::size_t size = printable(text, at)) {
            safe.append(text.substr(at, size));
            at += size;
            continue;
        }
        const auto byte = static_cast<unsigned char>(text[at++]);
        safe += byte == '\n' ? "\\n" : byte == '\t' ? "\\t" : fmt::format("\\x{:02x}", byte);
    }
    return safe;
}

std::size_t terminal_width(std::string_view text)
{
    std::size_t width = 0;
    for (const char c : text)
        width += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
    return width;
}

} // namespace fencepost
