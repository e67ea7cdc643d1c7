// SPDX-License-Identifier: GPL-2.0-or-later
// What a kernel module says about itself in its .modinfo section.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace fencepost::images {

struct ModuleInfo {
    std::string release; // of the kernel it was built for, the first word of its vermagic
    std::vector<std::string> depends;
    std::vector<std::string> soft_depends; // `softdep=pre:`, wanted but not required
    std::vector<std::string> parameters;   // names
};

// The name the kernel knows a module by, from its file name: nd-pmem.ko.xz is nd_pmem.
// Empty when the file's name is not that of a module.
std::string module_name(const std::filesystem::path &file);
// Names are written with either, and compared with underscores.
std::string normal_module_name(std::string_view text);

// The bytes of a module, decompressed if its name ends in .xz, .zst or .gz.
std::string read_module(const std::filesystem::path &file);

// Throws a usage error when the bytes are not an x86-64 kernel module. `file` is for messages.
ModuleInfo parse_module_info(std::string_view bytes, const std::filesystem::path &file);

} // namespace fencepost::images
