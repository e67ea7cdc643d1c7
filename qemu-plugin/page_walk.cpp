// SPDX-License-Identifier: GPL-2.0-or-later
// See page_walk.h.
#include "qemu-plugin/page_walk.h"

namespace fencepost::tracer {

namespace {

constexpr std::uint64_t kPresent = 1;
constexpr std::uint64_t kWritable = 2;
constexpr std::uint64_t kLargePage = 1 << 7;
constexpr std::uint64_t kFrameMask = 0x000f'ffff'ffff'f000;
constexpr unsigned kIndexBits = 9;
constexpr unsigned kPageShift = 12;

// The upper bits repeat the highest one that counts.
bool is_canonical(std::uint64_t address, unsigned bits)
{
    const std::int64_t upper = static_cast<std::int64_t>(address) >> (bits - 1);
    return upper == 0 || upper == -1;
}

} // namespace

std::optional<Translation> walk_page_tables(const PagingState &paging, std::uint64_t address,
                                            const ReadEntry &read)
{
    const unsigned levels = paging.five_levels ? 5 : 4;
    if (!is_canonical(address, kPageShift + levels * kIndexBits))
        return std::nullopt;
    std::uint64_t table = paging.cr3 & kFrameMask;
    bool writable = true;
    for (unsigned level = levels; level > 0; --level) {
        const unsigned shift = kPageShift + (level - 1) * kIndexBits;
        const std::uint64_t index = (address >> shift) & ((1u << kIndexBits) - 1);
        const std::optional<std::uint64_t> entry = read(table + index * sizeof(std::uint64_t));
        if (!entry)
            return std::nullopt;
        if (!(*entry & kPresent))
            return Translation{};
        writable = writable && (*entry & kWritable);
        // Pages of 1 GiB and 2 MiB end the walk early.
        const bool leaf = level == 1 || ((level == 2 || level == 3) && (*entry & kLargePage));
        if (leaf) {
            const std::uint64_t offset_mask = (std::uint64_t{1} << shift) - 1;
            return Translation{true, (*entry & kFrameMask & ~offset_mask) | (address & offset_mask),
                               writable};
        }
        table = *entry & kFrameMask;
    }
    return std::nullopt;
}

} // namespace fencepost::tracer
