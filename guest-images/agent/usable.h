// SPDX-License-Identifier: GPL-2.0-or-later
// Tries a mounted file system out: in every directory a file is created, written, read back,
// renamed, linked and removed, and the directory is as it was.
#pragma once

#include <string>

#include "guest-images/agent/usable_files.h"

namespace fencepost::agent {

// Names that the tree has and that could not be looked at are problems too. Without problems the
// tree is as it was.
void try_directories(const std::string &root, const TreeDump &tree, TrialResult &result);

} // namespace fencepost::agent
