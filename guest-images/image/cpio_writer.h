// SPDX-License-Identifier: GPL-2.0-or-later
// Writes a guest tree as the archive that the kernel unpacks at boot.
#pragma once

#include <cstdint>
#include <filesystem>

#include "guest-images/image/guest_tree.h"

namespace fencepost::images {

// "newc" cpio, uncompressed because decompression is slow in an emulated guest. The same tree gives
// the same bytes: entries in path order, numbered from 1, all owned by root, times zero, modes 0755
// or 0644. Synced to disk. Returns the size.
std::uint64_t write_cpio(const GuestTree &tree, const std::filesystem::path &path);

} // namespace fencepost::images
