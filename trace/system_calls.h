// SPDX-License-Identifier: GPL-2.0-or-later
// System calls of Linux on x86-64 by name.
#pragma once

#include <cstdint>
#include <string>

namespace fencepost::trace {

// "system call 999" where the kernel headers that fencepost was built with have no name.
std::string system_call_name(std::int64_t number);

} // namespace fencepost::trace
