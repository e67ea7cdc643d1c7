// SPDX-License-Identifier: GPL-2.0-or-later
// See tree_digest.h. FNV-1a, 64 bits: it tells trees of one file system apart, and nobody is to be
// kept from making two that are alike.
#include "guest-images/agent/tree_digest.h"

#include "guest-images/agent/protocol.h"

namespace fencepost::agent {

std::string tree_digest(TreeDump tree)
{
    for (TreeEntry &entry : tree.entries)
        entry.inode = 0;
    tree.blocks.clear();
    tree.elapsed_usec = 0;
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (const unsigned char byte : encode_payload(tree))
        hash = (hash ^ byte) * 0x100000001b3u;
    std::string digits(16, '0');
    for (std::size_t i = digits.size(); i-- > 0; hash >>= 4)
        digits[i] = "0123456789abcdef"[hash & 15];
    return digits;
}

} // namespace fencepost::agent
