// SPDX-License-Identifier: GPL-2.0-or-later
// Text from a trace, which comes from a guest, made safe to print: a terminal must not obey it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fencepost {

// Control characters and bytes that are not UTF-8 become \n, \t or \xNN.
std::string terminal_text(std::string_view text);

// Characters of a text that terminal_text() returned.
std::size_t terminal_width(std::string_view text);

} // namespace fencepost
