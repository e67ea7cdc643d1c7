// SPDX-License-Identifier: GPL-2.0-or-later
// A file of symbols for debuggers, made from what the guest's kernel says about itself.
#pragma once

#include <string>
#include <string_view>

namespace fencepost::guest {

// An ELF file that has the names of /proc/kallsyms, modules included, and no code.
std::string symbol_file(std::string_view kallsyms);

} // namespace fencepost::guest
