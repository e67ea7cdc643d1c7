// SPDX-License-Identifier: GPL-2.0-or-later
// What goes into every image: the lists to edit when a guest should have more or less.
#pragma once

#include <string>
#include <vector>

namespace fencepost::images {

// Raise it with any change to what an image contains: it makes existing images stale.
inline constexpr int kRecipeVersion = 2;

struct ProgramPackage {
    std::string package;
    std::vector<std::string> programs; // in any of the bin directories
    std::vector<std::string> files;    // other files, by path
};

// Debian packages with programs; the libraries that they need are found by themselves.
const std::vector<ProgramPackage> &program_packages();

struct LibraryPackage {
    std::string package;
    std::vector<std::string> libraries; // by soname
};

// Libraries that no program of ours needs, but those that users bring will.
const std::vector<LibraryPackage> &library_packages();

// Modules wanted in the guest, in this order, where the kernel has them as modules.
const std::vector<std::string> &default_modules();

} // namespace fencepost::images
