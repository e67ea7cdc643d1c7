// SPDX-License-Identifier: GPL-2.0-or-later
// What works on this machine, and what to do about what does not.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace fencepost::guest {

enum class Health {
    good,
    limited, // fencepost works, with less
    bad,     // fencepost does not work until this is mended
};

const char *to_string(Health health);

struct Diagnosis {
    std::string name;
    Health health = Health::good;
    std::string detail;
    std::string remedy; // empty when nothing needs doing
};

// Calls `report` for each part as it is examined.
void examine(const std::filesystem::path &cache,
             const std::function<void(const Diagnosis &)> &report);

} // namespace fencepost::guest
