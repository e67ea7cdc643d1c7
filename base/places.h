// SPDX-License-Identifier: GPL-2.0-or-later
// Where fencepost keeps what can be made again, and where its own parts are.
#pragma once

#include <filesystem>
#include <string>

namespace fencepost {

// $FENCEPOST_CACHE, else $XDG_CACHE_HOME/fencepost, else ~/.cache/fencepost.
std::filesystem::path cache_directory();

// A file that is built with fencepost and runs outside this process: the guest agent, a plugin.
// `folder` is its place in the source tree. Found in the build tree when this code was
// loaded from there, be it a program or a library, else where `meson install` puts it, or beside
// the module of a Python package that pip has installed.
std::filesystem::path built_part(const std::string &folder, const std::string &name);

// A folder of the source tree that is used as it is, found in the same way.
std::filesystem::path source_folder(const std::string &name);

} // namespace fencepost
