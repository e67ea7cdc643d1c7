// SPDX-License-Identifier: GPL-2.0-or-later
// The shared libraries that programs need, found in unpacked packages.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace fencepost::images {

struct LibraryClosure {
    // Where it belongs in the guest, and the file it is.
    std::map<std::string, std::filesystem::path> libraries;
    // Sonames that were not found, and a file that needs each.
    std::map<std::string, std::filesystem::path> missing;
};

// `roots`: host paths of programs and libraries; what is not ELF needs nothing. `trees` are
// searched in order, in the loader's default directories.
LibraryClosure library_closure(const std::vector<std::filesystem::path> &roots,
                               const std::vector<std::string> &sonames,
                               const std::vector<std::filesystem::path> &trees);

// The file a path stands for inside an unpacked tree, where absolute links mean the tree's root.
// Nothing (an empty path) when there is none.
std::filesystem::path resolve_in_tree(const std::filesystem::path &tree,
                                      const std::filesystem::path &path);

} // namespace fencepost::images
