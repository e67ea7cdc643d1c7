// SPDX-License-Identifier: GPL-2.0-or-later
// Kernel modules, loaded in the order of a list.
#pragma once

#include <string>
#include <vector>

#include "guest-images/agent/protocol.h"

namespace fencepost::agent {

// Each line of the list is "PATH [parameter=value ...]"; blank lines and lines with # are skipped.
// A module that is already there is no failure; neither is a missing list.
std::vector<ModuleFailure> load_modules(const std::string &list_path);

} // namespace fencepost::agent
