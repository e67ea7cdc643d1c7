// SPDX-License-Identifier: GPL-2.0-or-later
// A word in a command that a person copies into a shell.
#pragma once

#include <string>
#include <string_view>

namespace fencepost {

// As it is where no shell takes it for more, else in single quotes.
std::string shell_word(std::string_view word);

} // namespace fencepost
