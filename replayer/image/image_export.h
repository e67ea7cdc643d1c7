// SPDX-License-Identifier: GPL-2.0-or-later
// Crash images as files that a user asks for.
#pragma once

#include <filesystem>
#include <span>

#include "base/output_file.h"
#include "replayer/image/delta_file.h"
#include "replayer/image/initial_image.h"

namespace fencepost::image {

// Makes one file a region: `path` where there is one region, else `path`-NAME for each. Holes stay
// holes. A delta whose identity does not come out is an Error(trace): it is of another image.
// To a device or a pipe all bytes are written, in order. Returns what was made.
std::vector<std::filesystem::path> write_image(const std::filesystem::path &path,
                                               const InitialImage &initial, const ImageDelta &delta,
                                               Overwrite overwrite);

// An image.delta where the name of `path` ends in .delta, else as write_image().
std::vector<std::filesystem::path> export_image(const std::filesystem::path &path,
                                                const InitialImage &initial,
                                                const ImageDelta &delta, Overwrite overwrite);
// Before the image is made, as far as `path` is what will be written.
void check_export(const std::filesystem::path &path, std::size_t regions, Overwrite overwrite);

} // namespace fencepost::image
