// SPDX-License-Identifier: GPL-2.0-or-later
// PM as programs see it at a point of the trace: every store that was executed is there, whatever
// of it would persist.
#pragma once

#include <cstdint>
#include <filesystem>

#include "replayer/image/initial_image.h"
#include "trace/reader.h"

namespace fencepost::image {

// A part of a PM region.
struct RegionPart {
    std::size_t region = 0; // InitialImage::regions()
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
};

// Writes the part into a new file, with all stores before the event `seq`. What was zero and never
// written stays a hole.
void write_executed(const std::filesystem::path &path, const trace::TraceReader &reader,
                    const InitialImage &initial, const RegionPart &part, std::uint64_t seq);

} // namespace fencepost::image
