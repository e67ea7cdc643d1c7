// SPDX-License-Identifier: GPL-2.0-or-later
// The exact set of lines that a block touches, small enough to ask before the block is opened.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace fencepost::trace {

struct LineRange {
    std::uint64_t first = 0;
    std::uint64_t last = UINT64_MAX; // inclusive
};

// Collects lines in any order. Most events touch a page that was touched a moment ago, so recent
// pages wait in a small cache and the rest is sorted once.
class LineSetBuilder {
public:
    LineSetBuilder() { clear(); }

    void add(std::uint64_t line)
    {
        const std::uint64_t page = line / kPageLines;
        PageLines &recent = recent_[page % kRecent];
        if (recent.page != page) [[unlikely]] {
            if (recent.lines)
                touched_.push_back(recent);
            recent = {page, 0};
        }
        recent.lines |= std::uint64_t{1} << line % kPageLines;
    }

    bool empty() const { return touched_.empty() && !any_recent(); }
    // Sorted by page, each page once. Empties the builder.
    std::vector<std::byte> encode(LineRange &bounds);

private:
    static constexpr unsigned kPageLines = 64;
    static constexpr unsigned kRecent = 256;

    struct PageLines {
        std::uint64_t page;
        std::uint64_t lines; // bit i = line i of the page
    };

    bool any_recent() const;
    void clear();

    std::array<PageLines, kRecent> recent_;
    std::vector<PageLines> touched_;
};

// Whether an encoded set has a line in one of `ranges` (sorted, disjoint). Untrusted input:
// damage is an Error(trace).
bool line_set_touches(std::span<const std::byte> encoded, std::span<const LineRange> ranges);

} // namespace fencepost::trace
