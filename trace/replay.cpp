// SPDX-License-Identifier: GPL-2.0-or-later
// See replay.h.
#include "trace/replay.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace fencepost::trace {

namespace {

constexpr std::size_t kPage = 4096;
constexpr std::uint8_t kStores = kind_bit(EventKind::store) | kind_bit(EventKind::nt_store);

// Copies the part of the store that lies in the image; returns how much that was.
std::size_t apply(const RegionImage &image, const Event &event, std::span<const std::byte> bytes)
{
    const Region &region = image.region;
    const std::uint64_t begin = std::max(event.address, region.base);
    const std::uint64_t end = std::min(event.address + bytes.size(), region.base + region.size);
    if (begin >= end)
        return 0;
    std::memcpy(image.bytes.data() + (begin - region.base), bytes.data() + (begin - event.address),
                end - begin);
    return end - begin;
}

void compare_region(const RegionImage &replayed, std::span<const std::byte> actual,
                    std::size_t limit, Comparison &comparison)
{
    const std::span<const std::byte> expected = replayed.bytes;
    for (std::size_t page = 0; page < expected.size(); page += kPage) {
        const std::size_t page_end = std::min(page + kPage, expected.size());
        if (std::memcmp(expected.data() + page, actual.data() + page, page_end - page) == 0)
            continue;
        for (std::size_t at = page; at < page_end; at += kLineBytes) {
            const std::size_t size = std::min<std::size_t>(kLineBytes, page_end - at);
            if (std::memcmp(expected.data() + at, actual.data() + at, size) == 0)
                continue;
            ++comparison.differing_lines;
            if (comparison.first.size() >= limit)
                continue;
            LineDifference difference = {.region = replayed.region.id,
                                         .offset = at,
                                         .line = (replayed.region.base + at) / kLineBytes};
            std::memcpy(difference.replayed.data(), expected.data() + at, size);
            std::memcpy(difference.actual.data(), actual.data() + at, size);
            comparison.first.push_back(difference);
        }
    }
}

void find_last_writers(const TraceReader &reader, std::vector<LineDifference> &differences)
{
    std::vector<LineRange> lines;
    for (const LineDifference &difference : differences)
        lines.push_back({difference.line, difference.line});
    EventScan scan = reader.scan({.kinds = kStores, .lines = lines, .with_values = false});
    scan.for_each([&](std::uint64_t seq, const Event &event, std::span<const std::byte>) {
        for (LineDifference &difference : differences)
            if (event.first_line() <= difference.line && event.last_line() >= difference.line)
                difference.last_writer = LastWriter{seq, event.site};
    });
}

} // namespace

ReplayCounts replay_onto(const TraceReader &reader, std::span<const RegionImage> images,
                         std::uint64_t last_seq)
{
    for (const RegionImage &image : images)
        CHECK(image.bytes.size() == image.region.size, "an image of another size than its region");
    ReplayCounts counts;
    EventScan scan = reader.scan({.last_seq = last_seq, .kinds = kStores});
    scan.for_each([&](std::uint64_t, const Event &event, std::span<const std::byte> wide_values) {
        const std::span<const std::byte> bytes = value_of(event, wide_values);
        std::size_t applied = 0;
        for (const RegionImage &image : images)
            applied += apply(image, event, bytes);
        ++counts.stores;
        counts.bytes += applied;
        counts.outside += applied < bytes.size();
    });
    return counts;
}

Comparison compare_images(const TraceReader &reader, std::span<const RegionImage> replayed,
                          std::span<const std::span<const std::byte>> actual, std::size_t limit)
{
    CHECK(replayed.size() == actual.size(), "as many images on both sides");
    Comparison comparison;
    for (std::size_t i = 0; i < replayed.size(); ++i) {
        CHECK(replayed[i].bytes.size() == actual[i].size(), "images of the same size");
        compare_region(replayed[i], actual[i], limit, comparison);
    }
    if (!comparison.first.empty())
        find_last_writers(reader, comparison.first);
    return comparison;
}

} // namespace fencepost::trace
