// SPDX-License-Identifier: GPL-2.0-or-later
// One value of each field of a spec, for whoever wrote one of another type.
#pragma once

#include <string_view>

namespace fencepost::run {

// As it is written in TOML; empty for a field that has none.
std::string_view example_of(std::string_view field);

} // namespace fencepost::run
