// SPDX-License-Identifier: GPL-2.0-or-later
// What processes that were killed have left: scratch directories, and machines that use them.
#pragma once

#include <filesystem>

namespace fencepost::guest {

struct Swept {
    int directories = 0;
    int processes = 0;
};

// Removes the scratch directories of processes that ended without doing so, and kills the machines
// that still use one.
Swept sweep_scratch(const std::filesystem::path &cache);

} // namespace fencepost::guest
