// SPDX-License-Identifier: GPL-2.0-or-later
// PM contents: the image before the first event, kept in the trace, and digests of whole images.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "trace/database.h"
#include "trace/records.h"

namespace fencepost::trace {

// Digest of a region's bytes. Pages of zeros and holes of a file count the same and cost nothing.
std::string image_digest(std::span<const std::byte> bytes);
std::string image_digest(const Region &region, const std::filesystem::path &file);

// For TraceWriter.
void store_region(sqlite3 *database, const Region &region);
void store_initial_image(sqlite3 *database, const Region &region, std::span<const std::byte> bytes);
void store_initial_image(sqlite3 *database, const Region &region,
                         const std::filesystem::path &file);

// For TraceReader: `bytes` are as many as the region has, and all zero. Pages that were zero are
// not touched, so a sparse mapping stays sparse. Damage is an Error(trace).
void load_initial_image(sqlite3 *database, const Region &region, std::span<std::byte> bytes);

} // namespace fencepost::trace
