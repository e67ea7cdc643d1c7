// SPDX-License-Identifier: GPL-2.0-or-later
// See late_lines.h.
#include "trace/late_lines.h"

#include <algorithm>

#include "base/error.h"

namespace fencepost::trace {

std::vector<LateLine> late_lines(const TraceReader &reader)
{
    std::vector<LateLine> lines;
    Statement row(reader.connection(), "SELECT line, written, bytes FROM late_line ORDER BY line");
    while (row.step()) {
        const std::span<const std::byte> bytes = row.blob(2);
        if (bytes.size() != kLineBytes)
            fail(ErrorKind::trace, "{} is damaged: a late line has {} bytes",
                 reader.path().string(), bytes.size());
        LateLine &late = lines.emplace_back();
        late.line = row.number(0);
        late.written = row.number(1);
        std::copy(bytes.begin(), bytes.end(), late.bytes.begin());
    }
    return lines;
}

ReplayCounts apply_late_lines(const TraceReader &reader, std::span<const RegionImage> images)
{
    ReplayCounts counts;
    for (const LateLine &late : late_lines(reader)) {
        std::size_t applied = 0;
        for (const RegionImage &image : images) {
            if (!image.region.contains(late.line * kLineBytes))
                continue;
            const std::uint64_t at = late.line * kLineBytes - image.region.base;
            for (std::size_t i = 0; i < kLineBytes && at + i < image.bytes.size(); ++i)
                if (late.written >> i & 1) {
                    image.bytes[at + i] = late.bytes[i];
                    ++applied;
                }
        }
        ++counts.stores;
        counts.bytes += applied;
        counts.outside += applied == 0;
    }
    return counts;
}

} // namespace fencepost::trace
