// SPDX-License-Identifier: GPL-2.0-or-later
// Legal trees from another file system: what the same operations leave there. A judge that does
// not share the mistakes of the file system under test.
#pragma once

#include "replayer/oracle/legal_trees.h"

namespace fencepost::oracle {

// `legal`: as the other file system has them. What two file systems may do differently is masked.
LegalTrees mask_file_system(const LegalTrees &legal);

} // namespace fencepost::oracle
