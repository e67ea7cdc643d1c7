// SPDX-License-Identifier: GPL-2.0-or-later
// Whole crash images as files.
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

} // namespace fencepost::image
