// SPDX-License-Identifier: GPL-2.0-or-later
// Initial image + stores == PM at the end, for the files of a recording.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "trace/replay.h"

namespace fencepost::record {

// The trace replayed over its initial image: what PM must have been at the end.
class ReplayedImage {
public:
    explicit ReplayedImage(const trace::TraceReader &reader);
    ~ReplayedImage();
    ReplayedImage(const ReplayedImage &) = delete;
    ReplayedImage &operator=(const ReplayedImage &) = delete;

    const std::vector<trace::RegionImage> &images() const { return images_; }
    const trace::ReplayCounts &counts() const { return counts_; }
    // Of `stores` here: the lines that were written after the workload's end.
    const trace::ReplayCounts &late() const { return late_; }
    std::vector<std::string> digests() const; // by region
    // `final_pm`: the file behind each region as it was at the end.
    trace::Comparison compare(const trace::TraceReader &reader,
                              const std::vector<std::filesystem::path> &final_pm,
                              std::size_t limit = 16) const;

private:
    std::vector<trace::RegionImage> images_;
    trace::ReplayCounts counts_;
    trace::ReplayCounts late_;
};

// One line a difference: where, what is there, what should be, who wrote last.
std::string describe(const trace::LineDifference &difference, const trace::TraceReader &reader);

} // namespace fencepost::record
