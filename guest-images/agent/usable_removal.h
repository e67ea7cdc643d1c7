// SPDX-License-Identifier: GPL-2.0-or-later
// Removes everything that a mounted file system holds, and says how much of it is still in use
// then: what nobody can reach any more is a leak.
#pragma once

#include "guest-images/agent/usable_files.h"

namespace fencepost::agent {

// What is in use without the root directory's own blocks, which need not shrink.
SpaceUse space_in_use(const std::string &root);

// But for an empty `lost+found`, which belongs to the file system. True: nothing else is left.
bool remove_everything(const std::string &root, TrialResult &result);

// What is in use when the file system has come to rest, as some free blocks and inodes later: at
// once if that is as expected.
SpaceUse settled_space(const std::string &root, const SpaceRange &expected);

} // namespace fencepost::agent
