// SPDX-License-Identifier: GPL-2.0-or-later
// A tree that came back, as text.
#pragma once

#include "guest-images/agent/tree.h"

namespace fencepost::cli {

// One line a name, as `ls -l` has them.
void print_tree(const agent::TreeDump &tree);

} // namespace fencepost::cli
