// SPDX-License-Identifier: GPL-2.0-or-later
// The identity of a crash image: a sum of hashes of its lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fencepost::image {

// A number modulo 2^128. Sums do not depend on order, and a line is replaced by one subtraction and
// one addition.
struct Hash128 {
    std::uint64_t low = 0;
    std::uint64_t high = 0;

    bool operator==(const Hash128 &) const = default;

    Hash128 &operator+=(const Hash128 &other)
    {
        low += other.low;
        high += other.high + (low < other.low);
        return *this;
    }
    Hash128 &operator-=(const Hash128 &other)
    {
        const bool borrow = low < other.low;
        low -= other.low;
        high -= other.high + borrow;
        return *this;
    }
    friend Hash128 operator+(Hash128 a, const Hash128 &b) { return a += b; }
    friend Hash128 operator-(Hash128 a, const Hash128 &b) { return a -= b; }

    std::string hex() const; // 32 digits
};

std::optional<Hash128> hash_from_hex(std::string_view text);

// XXH3-128 of the line's number (guest physical address / 64) and its 64 bytes. A line of zeros has
// the hash 0, so an image's identity is the sum over the lines that are not zero.
Hash128 line_hash(std::uint64_t line, const std::byte *content);

} // namespace fencepost::image
