// SPDX-License-Identifier: GPL-2.0-or-later
// Unpacked Debian packages in the cache, and which of them were chosen for what.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "guest-images/image/apt.h"

namespace fencepost::images {

struct Package {
    std::string name;
    std::string version;
    std::string file;   // name of the .deb
    std::string digest; // of the .deb
    std::filesystem::path tree;
    std::vector<std::string> depends = {}; // only known right after it was fetched
};

// One process at a time: the others wait in the constructor.
class PackageStore {
public:
    using Progress = std::function<void(const std::string &line)>;

    PackageStore(std::filesystem::path directory, Progress progress);

    // A selection made earlier under this key, with its packages; nothing if there is none, it is
    // of another recipe, or a package is gone.
    std::optional<std::vector<Package>> selection(const std::string &key) const;
    // Packages that were selected before, and are not by any selection now, are removed.
    void save_selection(const std::string &key, const std::vector<Package> &packages) const;

    // Candidates of these names from apt, downloaded unless they are here, unpacked. `required`:
    // a name that apt does not know is an error; otherwise it is left out.
    std::vector<Package> fetch(const std::vector<std::string> &names, bool required) const;
    std::vector<Package> fetch(const std::vector<PackageRecord> &records) const;

private:
    void download(const std::vector<PackageRecord> &records) const;
    std::filesystem::path tree_of(const std::string &file) const;
    void remove_leftovers() const;
    void remove_unselected(const std::vector<Package> &candidates) const;

    std::filesystem::path directory_;
    Progress progress_;
    FileLock lock_;
};

[[noreturn]] void fail_unknown_package(const std::string &name);

} // namespace fencepost::images
