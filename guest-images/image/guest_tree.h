// SPDX-License-Identifier: GPL-2.0-or-later
// The guest's root file system while it is put together: a map from path to what is there.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <variant>

namespace fencepost::images {

struct TreeDirectory {};
struct TreeFile {
    std::variant<std::string, std::filesystem::path>
        content; // the bytes, or the host file with them
    bool executable = false;
};
struct TreeSymlink {
    std::string target;
};
struct TreeCharDevice {
    std::uint32_t major = 0;
    std::uint32_t minor = 0;
};
using TreeEntry = std::variant<TreeDirectory, TreeFile, TreeSymlink, TreeCharDevice>;

// Paths are relative to the guest's root, without "." and "..". The guest has a merged /usr:
// what is put into bin, sbin, lib or lib64 lands in usr/bin and so on, because Debian's releases
// differ in which of the two their packages use.
class GuestTree {
public:
    GuestTree();

    // Parents are made. A file or link takes the place of a file or link; nothing takes the place
    // of a directory, nor becomes one that was something else: that is a usage error.
    void add(const std::filesystem::path &path, TreeEntry entry);
    bool contains(const std::filesystem::path &path) const;
    // Sorted by path, so that a directory comes before what is in it.
    const std::map<std::string, TreeEntry> &entries() const { return entries_; }

private:
    std::map<std::string, TreeEntry> entries_;
};

// Where a path of a Debian package ends up in the guest. Throws a usage error for a path that is
// absolute, empty, or has ".." in it.
std::string guest_path(const std::filesystem::path &path);

} // namespace fencepost::images
