// SPDX-License-Identifier: GPL-2.0-or-later
// See physical_memory.h.
#include "qemu-plugin/physical_memory.h"

namespace fencepost::tracer {

namespace {

// Where Linux puts the direct map when it is told not to randomise.
constexpr std::uint64_t kLinuxFourLevels = 0xffff'8880'0000'0000;
constexpr std::uint64_t kLinuxFiveLevels = 0xff11'0000'0000'0000;
constexpr std::uint64_t kAlignment = std::uint64_t{1} << 30; // randomised in steps of 1 GiB
constexpr std::uint64_t kTables = 0x000f'ffff'ffff'f000;     // of cr3
constexpr std::uint64_t kAccessed = 1 << 5;
constexpr std::uint64_t kKernelHalf = std::uint64_t{1} << 63;
constexpr std::uint64_t kKernelImage =
    0xffff'ffff'8000'0000; // aligned as well, but covers the kernel alone

} // namespace

void PhysicalMemory::learn(std::uint64_t address, std::uint64_t physical)
{
    if (base_ != 0 || address < kKernelHalf || address >= kKernelImage)
        return;
    const std::uint64_t base = address - physical;
    if (base % kAlignment == 0)
        candidate_ = base;
}

std::optional<std::uint64_t> PhysicalMemory::read(std::uint64_t base, std::uint64_t physical)
{
    return guest_.read_word(base + physical);
}

// The right one, and hardly any other, leads from cr3 through the tables to where cr3 itself is.
bool PhysicalMemory::is_direct_map(std::uint64_t base, const PagingState &paging)
{
    const std::uint64_t tables = paging.cr3 & ~std::uint64_t{0xfff};
    const std::optional<Translation> found = walk_page_tables(
        paging, base + tables, [&](std::uint64_t physical) { return read(base, physical); });
    return found && found->present && found->physical == tables;
}

bool PhysicalMemory::find_direct_map(const PagingState &paging)
{
    const std::uint64_t usual = paging.five_levels ? kLinuxFiveLevels : kLinuxFourLevels;
    for (const std::uint64_t base : {usual, candidate_}) {
        if (base != 0 && is_direct_map(base, paging)) {
            base_ = base;
            return true;
        }
    }
    return false;
}

std::optional<Translation> PhysicalMemory::translate(const PagingState &paging,
                                                     std::uint64_t address)
{
    if (qemu_plugin_translate_vaddr) {
        std::uint64_t physical = 0;
        // Whether the page can be written it does not say.
        return qemu_plugin_translate_vaddr(address, &physical) ? Translation{true, physical, false}
                                                               : Translation{};
    }
    if (paging.cr3 == 0)
        return std::nullopt;
    if (base_ == 0 && !find_direct_map(paging))
        return std::nullopt;
    return walk(paging, address);
}

std::optional<Translation> PhysicalMemory::walk(const PagingState &paging, std::uint64_t address)
{
    return walk_page_tables(paging, address,
                            [&](std::uint64_t physical) { return read(base_, physical); });
}

// Linux has the kernel's part in the page tables of every process. A page that has been freed and
// holds something else by now has not.
bool PhysicalMemory::same_kernel(std::uint64_t tables, const PagingState &paging)
{
    const unsigned shift = paging.five_levels ? 48 : 39;
    for (const std::uint64_t address : {base_, kKernelImage}) {
        const std::uint64_t entry = (address >> shift & 0x1ff) * sizeof(std::uint64_t);
        const auto here = read(base_, (paging.cr3 & kTables) + entry);
        const auto there = read(base_, tables + entry);
        if (!here || !there || (*here & ~kAccessed) != (*there & ~kAccessed))
            return false;
    }
    return true;
}

std::optional<Translation>
PhysicalMemory::translate_by(std::uint64_t tables, const PagingState &paging, std::uint64_t address)
{
    if (paging.cr3 == 0 || (base_ == 0 && !find_direct_map(paging)) || !same_kernel(tables, paging))
        return std::nullopt;
    return walk({tables, paging.five_levels}, address);
}

} // namespace fencepost::tracer
