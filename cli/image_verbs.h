// SPDX-License-Identifier: GPL-2.0-or-later
// The verbs below `fencepost image`, one file each, and how they show an image.
#pragma once

#include "cli/verb.h"
#include "guest-images/image/image_store.h"

namespace fencepost::cli {

void add_image_list(App &image, Context &context);
void add_image_try(App &image, Context &context);

nlohmann::json image_to_json(const images::Image &image);

inline double megabytes(std::uint64_t bytes)
{
    return static_cast<double>(bytes) / 1e6;
}

} // namespace fencepost::cli
