// SPDX-License-Identifier: GPL-2.0-or-later
// In which order modules must be loaded.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace fencepost::images {

enum class ModulePresence { file, built_in, absent };

struct ModuleNode {
    ModulePresence presence = ModulePresence::absent;
    std::vector<std::string> depends = {};
    std::vector<std::string> soft_depends = {};
};

struct WantedModule {
    std::string name;
    bool required = false;
};

struct LeftOut {
    std::string name;
    std::string reason;
};

struct LoadOrder {
    std::vector<std::string> modules;
    std::vector<LeftOut> left_out; // wanted, there, and yet of no use
};

// Every module after all it depends on; otherwise in the order wanted. A wanted module that is
// built in or absent is no concern; one that lacks a dependency is left out; if it is required,
// either is a usage error. Soft dependencies are followed where that makes no cycle.
LoadOrder load_order(const std::vector<WantedModule> &wanted,
                     const std::function<ModuleNode(const std::string &name)> &lookup);

} // namespace fencepost::images
