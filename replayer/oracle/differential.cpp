// SPDX-License-Identifier: GPL-2.0-or-later
// See differential.h.
#include "replayer/oracle/differential.h"

namespace fencepost::oracle {

LegalTrees mask_file_system(const LegalTrees &legal)
{
    History history = legal.history();
    // How many links a directory has, what a fresh file system holds and whose its root is are
    // nobody's operations.
    for (const char *name : {"lost+found", "."})
        for (const char *field : {"name", "mode", "user", "group", "attributes"})
            history.masks.insert({name, field});
    for (const Tree &tree : history.trees)
        for (const auto &[path, entry] : tree.entries())
            if (entry.type == agent::FileType::directory)
                history.masks.insert({path, "link_count"});
    return LegalTrees(std::move(history), legal.operations());
}

} // namespace fencepost::oracle
