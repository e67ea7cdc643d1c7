// SPDX-License-Identifier: GPL-2.0-or-later
// What was written to PM after the workload's end, while the machine was brought to a stop: table
// late_line.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "trace/event.h"
#include "trace/replay.h"

namespace fencepost::trace {

struct LateLine {
    std::uint64_t line = 0;    // guest physical address / 64
    std::uint64_t written = 0; // bit i: byte i was
    std::array<std::byte, kLineBytes> bytes = {};
};

std::vector<LateLine> late_lines(const TraceReader &reader); // by line
// On top of all stores. Lines in none of the images count as `outside`.
ReplayCounts apply_late_lines(const TraceReader &reader, std::span<const RegionImage> images);

} // namespace fencepost::trace
