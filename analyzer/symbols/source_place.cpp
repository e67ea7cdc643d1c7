// SPDX-License-Identifier: GPL-2.0-or-later
// See source_place.h.
#include "analyzer/symbols/source_place.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

namespace fencepost::symbols {

namespace {

// Where distributions put them; /usr/lib has GCC's and clang's own.
constexpr std::array<std::string_view, 3> kSystemFolders = {"/usr/include/", "/usr/local/include/",
                                                            "/usr/lib"};
// Toolchains that live elsewhere.
constexpr std::array<std::string_view, 3> kToolchainFolders = {"/include/c++/", "/lib/gcc/",
                                                               "/lib/clang/"};

} // namespace

bool is_system_header(std::string_view file)
{
    const std::string path = std::filesystem::path(file).lexically_normal();
    return std::any_of(kSystemFolders.begin(), kSystemFolders.end(),
                       [&](std::string_view folder) { return path.starts_with(folder); }) ||
           std::any_of(
               kToolchainFolders.begin(), kToolchainFolders.end(),
               [&](std::string_view folder) { return path.find(folder) != std::string::npos; });
}

SourcePlace own_place(SourcePlace place)
{
    while (!place.inlined.empty() && is_system_header(place.line.file)) {
        place.line = std::move(place.inlined.front().call);
        place.inlined.erase(place.inlined.begin());
    }
    return place;
}

} // namespace fencepost::symbols
