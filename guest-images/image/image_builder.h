// SPDX-License-Identifier: GPL-2.0-or-later
// Makes the files of one image in a directory: the steps from a request to a manifest.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "guest-images/image/build_request.h"
#include "guest-images/image/manifest.h"

namespace fencepost::images {

struct BuildPlaces {
    std::filesystem::path agent;
    std::filesystem::path mark; // the program fencepost-mark; empty = left out
    std::filesystem::path packages;
    std::filesystem::path output; // exists and is empty
};

// The request's paths are absolute. Whether the output is of use is told by its manifest, which is
// written last.
Manifest build_image(const BuildRequest &request, const BuildPlaces &places,
                     const std::function<void(const std::string &)> &progress);

} // namespace fencepost::images
