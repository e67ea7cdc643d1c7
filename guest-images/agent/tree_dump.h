// SPDX-License-Identifier: GPL-2.0-or-later
// Dumps a tree. Bounded in entries, in bytes read and in bytes sent, as a damaged file system may
// claim to hold anything.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "guest-images/agent/tree.h"

namespace fencepost::agent {

// Which blocks the asker has the bytes of.
class KnownBlocks {
public:
    // Hashes as in TreeEntry, ascending.
    explicit KnownBlocks(std::string_view hashes);

    // False the first time for a hash that was not known.
    bool add(std::uint64_t hash);

private:
    std::vector<std::uint64_t> given_;
    std::vector<std::uint64_t> added_;
};

// Stays on the file system that `root` is on.
TreeDump dump_tree(const std::string &root, const TreeLimits &limits, KnownBlocks &known);

std::uint64_t block_hash(std::string_view block); // of kTreeBlock bytes

} // namespace fencepost::agent
