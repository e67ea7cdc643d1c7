// SPDX-License-Identifier: GPL-2.0-or-later
// Numbers that look random and depend on nothing but what they are drawn for.
#pragma once

#include <cstdint>

namespace fencepost::states {

// SplitMix64's increment and finaliser.
inline constexpr std::uint64_t kDrawStep = 0x9e3779b97f4a7c15u;

inline std::uint64_t mix(std::uint64_t value)
{
    value += kDrawStep;
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
    value = (value ^ value >> 27) * 0x94d049bb133111ebu;
    return value ^ value >> 31;
}

// A stream of numbers for one key.
class Draw {
public:
    Draw(std::uint64_t seed, std::uint64_t seq, std::uint64_t index)
        : state_(mix(mix(mix(seed) ^ seq) ^ index))
    {
    }

    std::uint64_t below(std::uint64_t limit)
    {
        const std::uint64_t drawn = mix(state_ += kDrawStep);
        return limit <= UINT32_MAX ? (drawn >> 32) * limit >> 32 : drawn % limit;
    }

private:
    std::uint64_t state_;
};

} // namespace fencepost::states
