// SPDX-License-Identifier: GPL-2.0-or-later
// See shared_mappings.h.
#include "qemu-plugin/shared_mappings.h"

#include <algorithm>

#include "qemu-plugin/translation_cache.h"

namespace fencepost::tracer {

namespace {

constexpr std::uint64_t kPageMask = kPageBytes - 1;

// Whole pages, as the kernel takes a range.
AddressRange pages_of(const AddressRange &range)
{
    const std::uint64_t start = range.start & ~kPageMask;
    const std::uint64_t end = std::min(range.end(), ~kPageMask);
    return {start, end <= start ? 0 : ((end - start) + kPageMask) & ~kPageMask};
}

} // namespace

void SharedMappings::map(const AddressRange &range, const FilePage &first)
{
    unmap(range);
    const AddressRange pages = pages_of(range);
    if (pages.length != 0)
        mappings_[pages.start] = {pages.end(), first};
}

void SharedMappings::unmap(const AddressRange &range)
{
    const AddressRange pages = pages_of(range);
    if (pages.length == 0)
        return;
    auto mapping = mappings_.upper_bound(pages.start);
    if (mapping != mappings_.begin())
        --mapping;
    while (mapping != mappings_.end() && mapping->first < pages.end()) {
        const auto [start, old] = *mapping;
        if (old.end <= pages.start) {
            ++mapping;
            continue;
        }
        mapping = mappings_.erase(mapping);
        if (start < pages.start)
            mappings_[start] = {pages.start, old.first};
        if (old.end > pages.end())
            mappings_[pages.end()] = {old.end,
                                      {old.first.file, old.first.offset + (pages.end() - start)}};
    }
}

void SharedMappings::keep_common(const SharedMappings &other)
{
    std::erase_if(mappings_, [&](const auto &mapping) {
        const auto found = other.mappings_.find(mapping.first);
        return found == other.mappings_.end() || found->second != mapping.second;
    });
}

std::optional<FilePage> SharedMappings::at(std::uint64_t address) const
{
    auto mapping = mappings_.upper_bound(address);
    if (mapping == mappings_.begin())
        return std::nullopt;
    --mapping;
    const auto &[start, found] = *mapping;
    if (address >= found.end)
        return std::nullopt;
    return FilePage{found.first.file, found.first.offset + ((address - start) & ~kPageMask)};
}

std::vector<std::uint64_t> SharedMappings::addresses_of(const FilePage &page) const
{
    std::vector<std::uint64_t> addresses;
    for (const auto &[start, mapping] : mappings_)
        if (mapping.first.file == page.file && page.offset >= mapping.first.offset &&
            page.offset - mapping.first.offset < mapping.end - start)
            addresses.push_back(start + (page.offset - mapping.first.offset));
    return addresses;
}

} // namespace fencepost::tracer
