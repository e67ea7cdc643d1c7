// SPDX-License-Identifier: GPL-2.0-or-later
// Names of functions as their authors write them.
#pragma once

#include <string>
#include <string_view>

namespace fencepost::symbols {

// Of C++: "log::append<int>" for "_ZN3log6appendIiEEvT_", without parameters and result; what
// compilers add to the name of a part or a variant stays (".part.0"). Any other name as it is.
std::string readable_name(std::string_view symbol);

// For display: a long name without its middle.
std::string shortened_name(std::string_view name);

} // namespace fencepost::symbols
