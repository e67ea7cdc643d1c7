// SPDX-License-Identifier: GPL-2.0-or-later
// The names in a directory.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <dirent.h>

namespace fencepost::agent {

// Sorted, without "." and ".."; empty if there is no such directory.
inline std::vector<std::string> directory_names(const std::string &path)
{
    std::vector<std::string> names;
    DIR *directory = opendir(path.c_str());
    if (!directory)
        return names;
    while (const dirent *entry = readdir(directory))
        if (const std::string_view name = entry->d_name; name != "." && name != "..")
            names.emplace_back(name);
    closedir(directory);
    std::sort(names.begin(), names.end());
    return names;
}

} // namespace fencepost::agent
