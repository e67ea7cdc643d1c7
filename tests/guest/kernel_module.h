// SPDX-License-Identifier: GPL-2.0-or-later
// A kernel module built for the guest's kernel, with the headers that Debian ships for it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace fencepost::guest {

// `sources` are copied to `directory`/module; the first is NAME.c, or another file NAME.* if there
// is a Kbuild among them, and the result is NAME.ko there. Throws what the compiler said if it
// cannot be built.
std::filesystem::path build_kernel_module(const std::string &kernel_release,
                                          const std::vector<std::filesystem::path> &sources,
                                          const std::filesystem::path &directory);

} // namespace fencepost::guest
