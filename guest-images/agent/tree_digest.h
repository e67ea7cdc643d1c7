// SPDX-License-Identifier: GPL-2.0-or-later
// Trees that are the same have the same digest, in whatever guest they were seen.
#pragma once

#include <string>

#include "guest-images/agent/tree.h"

namespace fencepost::agent {

// 16 hexadecimal digits. Inode numbers do not count, nor what of the blocks was sent.
std::string tree_digest(TreeDump tree);

} // namespace fencepost::agent
