// SPDX-License-Identifier: GPL-2.0-or-later
// What somebody may have meant who mistyped a name.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace fencepost {

// Characters to insert, remove or replace until one word is the other.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The name that comes closest, the first of several; empty: there are no names.
std::string nearest_name(std::string_view word, std::span<const std::string> names);

// The same, but empty where none is close enough to have been meant: less than half of the word
// is wrong.
std::string meant_name(std::string_view word, std::span<const std::string> names);

} // namespace fencepost
