// SPDX-License-Identifier: GPL-2.0-or-later
// Stores that the PM block driver makes for the block layer: what file systems take for sectors.
#pragma once

#include <unordered_set>

#include "trace/reader.h"

namespace fencepost::trace {

// A file system that goes through the block layer counts on sectors that are written or not, which
// PM does not give it. To tear them would tell that again for each run.
class BlockWrites {
public:
    BlockWrites() = default; // there are none
    // Without call stacks there are none either.
    explicit BlockWrites(const TraceReader &reader);

    bool contains(StackId stack) const { return stacks_.contains(stack); }

private:
    std::unordered_set<StackId> stacks_;
};

} // namespace fencepost::trace
