// SPDX-License-Identifier: GPL-2.0-or-later
// image.delta: a crash image as the lines that differ from the trace's initial image
// (docs/reference/image-delta.md).
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "replayer/image/line_hash.h"
#include "replayer/image/state_images.h"
#include "trace/records.h"

namespace fencepost::image {

struct ImageDelta {
    std::string state = {};                  // its id
    std::vector<trace::Region> regions = {}; // in order of address
    Hash128 identity = {};                   // of the whole image
    std::vector<LineContent> lines = {};     // in ascending order

    bool operator==(const ImageDelta &other) const
    {
        return state == other.state && identity == other.identity && lines == other.lines;
    }
};

std::vector<std::byte> encode_delta(const ImageDelta &delta);
// Untrusted bytes: what is damaged, or not an image.delta, is an Error(trace).
ImageDelta decode_delta(std::span<const std::byte> bytes);

void write_delta(const std::filesystem::path &path, const ImageDelta &delta);
ImageDelta read_delta(const std::filesystem::path &path);

} // namespace fencepost::image
