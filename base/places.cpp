// SPDX-License-Identifier: GPL-2.0-or-later
// See places.h.
#include "base/places.h"

#include <cstdlib>

#include <dlfcn.h>
#include <link.h>

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

// The file that this code was loaded from: a program, or a library in someone else's.
fs::path own_file()
{
    static const char here = 0;
    std::error_code error;
    Dl_info information = {};
    void *map = nullptr;
    const bool found = dladdr1(&here, &information, &map, RTLD_DL_LINKMAP) != 0 && map;
    const char *name = found ? static_cast<const link_map *>(map)->l_name : "";
    if (*name == '\0') // the program itself
        return fs::read_symlink("/proc/self/exe", error);
    return fs::canonical(name, error);
}

bool runs_from_build_tree()
{
    static const fs::path self = own_file();
    return self.string().starts_with(std::string(FENCEPOST_BUILD_ROOT) + "/");
}

// In a wheel it is given from where this code is.
fs::path libexec_directory()
{
    return own_file().parent_path() / FENCEPOST_LIBEXEC;
}

} // namespace

fs::path built_part(const std::string &folder, const std::string &name)
{
    std::error_code error;
    const fs::path part = runs_from_build_tree() ? fs::path(FENCEPOST_BUILD_ROOT) / folder / name
                                                 : libexec_directory() / name;
    if (!fs::exists(part, error))
        fail(ErrorKind::io, "{} is missing at {}: build or install fencepost again", name,
             part.string());
    return part;
}

fs::path source_folder(const std::string &name)
{
    std::error_code error;
    const fs::path folder =
        (runs_from_build_tree() ? fs::path(FENCEPOST_SOURCE_ROOT) : libexec_directory()) / name;
    if (!fs::is_directory(folder, error))
        fail(ErrorKind::io, "{} is missing at {}: install fencepost again", name, folder.string());
    return folder;
}

} // namespace fencepost
