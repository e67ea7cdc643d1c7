// SPDX-License-Identifier: GPL-2.0-or-later
// The modules there are for one kernel, by name: those of a directory, and single files.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "guest-images/image/module_info.h"
#include "guest-images/image/module_order.h"

namespace fencepost::images {

class ModuleCatalog {
public:
    explicit ModuleCatalog(std::string kernel_release) : release_(std::move(kernel_release)) {}

    // All modules below a directory: lib/modules/RELEASE of an installed kernel, or a build tree.
    // A name that is there twice is taken from the path that sorts first.
    void add_directory(const std::filesystem::path &directory);
    // Takes the place of a module of the same name. Returns the name.
    std::string add_file(const std::filesystem::path &file);

    struct Module {
        std::filesystem::path file;
        std::string bytes; // decompressed
        ModuleInfo info;
    };

    // Read on first use, and refused if it is for another kernel.
    const Module *find(const std::string &name);
    ModuleNode node(const std::string &name);

private:
    std::string release_;
    std::map<std::string, std::filesystem::path> files_;
    std::set<std::string> built_in_;
    std::map<std::string, Module> read_;
};

// The directory that holds the modules of this kernel, for what a user may give: the directory
// itself, or one that has RELEASE or lib/modules/RELEASE in it.
std::filesystem::path find_modules(const std::filesystem::path &directory,
                                   const std::string &release);

// Of the names of all modules and of what is built in. With the digests of the modules in use, this
// says whether another look at the directory could find anything new.
std::string modules_digest(const std::filesystem::path &directory);

} // namespace fencepost::images
