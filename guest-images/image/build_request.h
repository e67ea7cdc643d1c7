// SPDX-License-Identifier: GPL-2.0-or-later
// What a user may ask of a guest image: which kernel, which modules, which files.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace fencepost::images {

inline constexpr const char *kDefaultImage = "default";
inline constexpr const char *kDefaultKernelPackage = "linux-image-cloud-amd64";

// A module that must load, with its parameters as `name=value`.
struct ModuleRequest {
    std::filesystem::path file;
    std::vector<std::string> parameters = {};

    bool operator==(const ModuleRequest &) const = default;
};

struct BuildRequest {
    std::string name = kDefaultImage;
    std::string kernel_package = kDefaultKernelPackage; // not used when `kernel` is given
    std::optional<std::filesystem::path> kernel = {};   // a bzImage
    std::optional<std::filesystem::path> modules = {};  // a directory with the kernel's modules
    std::vector<ModuleRequest> module_files = {};
    std::vector<std::filesystem::path> extra = {}; // trees merged into the guest's root, in order
    bool packages = true; // false: no Debian user space; `kernel` is then required
    bool refresh = false; // ask apt for newer packages
    std::optional<std::filesystem::path> package_directory = {}; // default: CACHE/packages
};

// `FILE.ko[:name=value,...]`, as on the command line. A part without '=' belongs to the value
// before it, so that array parameters (`sizes=1,2,3`) can be written.
ModuleRequest parse_module_request(const std::string &text);

} // namespace fencepost::images
