// SPDX-License-Identifier: GPL-2.0-or-later
// What the tracer knows about Linux's system calls on x86-64: which of their arguments are paths.
#pragma once

#include <cstdint>

namespace fencepost::tracer {

struct PathArguments {
    std::int8_t first = -1; // index of an argument; -1 = none
    std::int8_t second = -1;
};

PathArguments path_arguments(std::uint64_t number);

} // namespace fencepost::tracer
