// SPDX-License-Identifier: GPL-2.0-or-later
// A piece of a virtual address space, and which pieces a system call gives another meaning.
#pragma once

#include <array>
#include <cstdint>

namespace fencepost::tracer {

struct AddressRange {
    std::uint64_t start = 0;
    std::uint64_t length = 0;

    // The first address behind it; what a program passes may reach beyond the last.
    std::uint64_t end() const { return start + length < start ? UINT64_MAX : start + length; }
};

inline constexpr AddressRange kAllAddresses = {0, UINT64_MAX};

// What the addresses of the ranges mean may be another thing from the call's entry on. Those that
// the kernel chooses are free until then, and not among them.
std::array<AddressRange, 2> remapped_by(std::uint64_t system_call,
                                        const std::array<std::uint64_t, 6> &arguments);

} // namespace fencepost::tracer
