// SPDX-License-Identifier: GPL-2.0-or-later
// Files that names come from, read whole whatever they are.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace fencepost::symbols {

// The bytes of a file, decompressed if it is a zstd frame. Nothing when there is no such regular
// file, when it cannot be read, is damaged, or is larger than 2 GiB either way.
std::optional<std::string> read_source(const std::filesystem::path &path);

// A path in the guest as an absolute one without "." or ".." or repeated slashes.
std::string absolute(std::string_view guest_path);

} // namespace fencepost::symbols
