// SPDX-License-Identifier: GPL-2.0-or-later
// Sizes in bytes as people write them.
#pragma once

#include <cstdint>
#include <string>

namespace fencepost {

// "128M", "1G", "65536K" or bytes. Anything else is an Error(usage).
std::uint64_t parse_size(const std::string &text);
std::string format_size(std::uint64_t bytes);

} // namespace fencepost
