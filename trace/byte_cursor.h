// SPDX-License-Identifier: GPL-2.0-or-later
// Variable-length integers into and out of byte strings; reading never runs past the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/error.h"

namespace fencepost::trace {

inline constexpr std::uint64_t zigzag(std::uint64_t difference)
{
    return (difference << 1) ^ (0 - (difference >> 63));
}

inline constexpr std::uint64_t unzigzag(std::uint64_t code)
{
    return (code >> 1) ^ (0 - (code & 1));
}

// Seven bits a byte, the lowest first; the top bit says that more follow.
inline void put_varint(std::vector<std::byte> &out, std::uint64_t number)
{
    for (; number >= 0x80; number >>= 7)
        out.push_back(static_cast<std::byte>(number | 0x80));
    out.push_back(static_cast<std::byte>(number));
}

// Reads untrusted bytes: what is missing or too large is an Error(trace).
class ByteCursor {
public:
    explicit ByteCursor(std::span<const std::byte> bytes) : rest_(bytes) {}

    bool done() const { return rest_.empty(); }

    std::span<const std::byte> take(std::size_t count)
    {
        if (count > rest_.size())
            fail(ErrorKind::trace, "it ends too early");
        const auto taken = rest_.first(count);
        rest_ = rest_.subspan(count);
        return taken;
    }

    std::uint8_t byte() { return std::to_integer<std::uint8_t>(take(1)[0]); }

    std::uint64_t word()
    {
        std::uint64_t number;
        std::memcpy(&number, take(sizeof number).data(), sizeof number);
        return number;
    }

    std::uint64_t varint()
    {
        std::uint64_t number = 0;
        for (unsigned shift = 0; shift < 64; shift += 7) {
            const std::uint64_t next = byte();
            number |= (next & 0x7f) << shift;
            if (next < 0x80)
                return number;
        }
        fail(ErrorKind::trace, "it holds a number of more than 64 bits");
    }

private:
    std::span<const std::byte> rest_;
};

} // namespace fencepost::trace
