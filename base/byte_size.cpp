// SPDX-License-Identifier: GPL-2.0-or-later
// See byte_size.h.
#include "base/byte_size.h"

#include <charconv>
#include <string_view>

#include <fmt/core.h>

#include "base/error.h"

namespace fencepost {

std::uint64_t parse_size(const std::string &text)
{
    std::uint64_t number = 0;
    const char *end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    std::string_view suffix(rest, static_cast<std::size_t>(end - rest));
    if (suffix.ends_with("iB"))
        suffix.remove_suffix(2);
    const int shift = suffix.empty()  ? 0
                      : suffix == "K" ? 10
                      : suffix == "M" ? 20
                      : suffix == "G" ? 30
                                      : -1;
    if (error != std::errc() || shift < 0 || number > (UINT64_MAX >> shift))
        fail(ErrorKind::usage, "'{}' is not a size; write for example 128M or 1G", text);
    return number << shift;
}

std::string format_size(std::uint64_t bytes)
{
    for (const auto &[shift, suffix] : {std::pair{30, 'G'}, {20, 'M'}, {10, 'K'}})
        if (bytes && bytes % (1ull << shift) == 0)
            return fmt::format("{}{}", bytes >> shift, suffix);
    return fmt::format("{}", bytes);
}

} // namespace fencepost
