// SPDX-License-Identifier: GPL-2.0-or-later
// A kernel with its modules from Debian's packages.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "guest-images/image/package_store.h"

namespace fencepost::images {

struct PackagedKernel {
    std::filesystem::path kernel;
    std::string release;
    std::optional<std::filesystem::path> modules;
    std::optional<std::filesystem::path> system_map;
};

// The packages behind `name`, which may be a metapackage that only depends on the current kernel.
std::vector<Package> kernel_packages(const PackageStore &store, const std::string &name,
                                     bool refresh);

PackagedKernel find_kernel(const std::vector<Package> &packages);

} // namespace fencepost::images
