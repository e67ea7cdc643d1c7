// SPDX-License-Identifier: GPL-2.0-or-later
// The kernel's own words on where its code is: /proc/kallsyms and /proc/modules.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/symbols/symbol_table.h"

namespace fencepost::symbols {

struct KernelModule {
    std::string name;
    std::uint64_t base = 0;
    std::uint64_t size = 0;
};

// Lines that are none are skipped and counted in `skipped`.
std::vector<KernelModule> parse_modules(std::string_view text, std::size_t &skipped);

// Functions of the kernel ("kernel") and its modules. `modules` say where a module's last function
// must end. Not finished yet.
SymbolTable parse_kallsyms(std::string_view text, const std::vector<KernelModule> &modules,
                           std::size_t &skipped);

// The same from files, finished. What cannot be read is told in `notes`.
SymbolTable read_kernel_functions(const std::filesystem::path &kallsyms,
                                  const std::filesystem::path &modules,
                                  std::vector<std::string> &notes);

} // namespace fencepost::symbols
