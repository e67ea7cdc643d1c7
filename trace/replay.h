// SPDX-License-Identifier: GPL-2.0-or-later
// Initial image + all stores in order == PM at the end: the proof that nothing was missed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "trace/event.h"
#include "trace/reader.h"
#include "trace/records.h"

namespace fencepost::trace {

// The bytes of a PM device, region.size of them, borrowed.
struct RegionImage {
    Region region;
    std::span<std::byte> bytes;
};

struct ReplayCounts {
    std::uint64_t stores = 0;
    std::uint64_t bytes = 0;
    // Stores with a byte in none of the images. Not 0: the tracer or `regions` is wrong.
    std::uint64_t outside = 0;
};

// Applies the stores up to `last_seq` in order. One pass; memory is one block of events.
ReplayCounts replay_onto(const TraceReader &reader, std::span<const RegionImage> images,
                         std::uint64_t last_seq = UINT64_MAX);

struct LastWriter {
    std::uint64_t seq = 0;
    SiteId site = 0;
};

struct LineDifference {
    RegionId region = 0;
    std::uint64_t offset = 0; // in the region
    std::uint64_t line = 0;   // guest physical address / 64
    std::array<std::byte, kLineBytes> replayed = {};
    std::array<std::byte, kLineBytes> actual = {};
    std::optional<LastWriter> last_writer; // none: the trace has no store to this line
};

struct Comparison {
    std::uint64_t differing_lines = 0;
    std::vector<LineDifference> first; // in order of address, up to the limit

    bool equal() const { return differing_lines == 0; }
};

// `actual` has the same regions in the same order. Only when there are differences is the trace
// read again, for the last writers of those that are listed.
Comparison compare_images(const TraceReader &reader, std::span<const RegionImage> replayed,
                          std::span<const std::span<const std::byte>> actual,
                          std::size_t limit = 16);

} // namespace fencepost::trace
