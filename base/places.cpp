// SPDX-License-Identifier: GPL-2.0-or-later
// See places.h.
#include "base/places.h"

#include <cstdlib>

#include "base/error.h"

namespace fencepost {

namespace fs = std::filesystem;

fs::path cache_directory()
{
    if (const char *own = std::getenv("FENCEPOST_CACHE"); own && *own)
        return fs::absolute(own);
    if (const char *xdg = std::getenv("XDG_CACHE_HOME"); xdg && *xdg == '/')
        return fs::path(xdg) / "fencepost";
    if (const char *home = std::getenv("HOME"); home && *home == '/')
        return fs::path(home) / ".cache" / "fencepost";
    fail(ErrorKind::usage, "no place for the cache: set FENCEPOST_CACHE or HOME");
}

namespace {

bool runs_from_build_tree()
{
    std::error_code error;
    const fs::path self = fs::read_symlink("/proc/self/exe", error);
    return self.string().starts_with(std::string(FENCEPOST_BUILD_ROOT) + "/");
}

} // namespace

fs::path built_part(const std::string &folder, const std::string &name)
{
    std::error_code error;
    const fs::path part = runs_from_build_tree() ? fs::path(FENCEPOST_BUILD_ROOT) / folder / name
                                                 : fs::path(FENCEPOST_LIBEXEC) / name;
    if (!fs::exists(part, error))
        fail(ErrorKind::io, "{} is missing at {}: build or install fencepost again", name,
             part.string());
    return part;
}

fs::path source_folder(const std::string &name)
{
    std::error_code error;
    const fs::path folder =
        fs::path(runs_from_build_tree() ? FENCEPOST_SOURCE_ROOT : FENCEPOST_LIBEXEC) / name;
    if (!fs::is_directory(folder, error))
        fail(ErrorKind::io, "{} is missing at {}: install fencepost again", name, folder.string());
    return folder;
}

} // namespace fencepost
