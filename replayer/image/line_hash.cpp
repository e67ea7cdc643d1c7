// SPDX-License-Identifier: GPL-2.0-or-later
// See line_hash.h.
#include "replayer/image/line_hash.h"

#include <cstring>

#include <fmt/core.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "trace/event.h"

namespace fencepost::image {

std::string Hash128::hex() const
{
    return fmt::format("{:016x}{:016x}", high, low);
}

std::optional<Hash128> hash_from_hex(std::string_view text)
{
    if (text.size() != 32)
        return std::nullopt;
    Hash128 hash;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char digit = text[i];
        const int value = digit >= '0' && digit <= '9'   ? digit - '0'
                          : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10
                                                         : -1;
        if (value < 0)
            return std::nullopt;
        std::uint64_t &half = i < 16 ? hash.high : hash.low;
        half = half << 4 | static_cast<unsigned>(value);
    }
    return hash;
}

Hash128 line_hash(std::uint64_t line, const std::byte *content)
{
    struct {
        std::uint64_t line;
        std::uint64_t content[trace::kLineBytes / 8];
    } input;
    static_assert(sizeof input == 8 + trace::kLineBytes);
    input.line = line;
    std::memcpy(input.content, content, sizeof input.content);
    std::uint64_t any = 0;
    for (const std::uint64_t word : input.content)
        any |= word;
    if (any == 0)
        return {};
    const XXH128_hash_t hash = XXH3_128bits(&input, sizeof input);
    return {hash.low64, hash.high64};
}

} // namespace fencepost::image
