// SPDX-License-Identifier: GPL-2.0-or-later
// Virtual to physical by the guest's own page tables, for addresses that no access has translated:
// QEMU executes a flush as nothing at all.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace fencepost::tracer {

struct PagingState {
    std::uint64_t cr3 = 0;
    bool five_levels = false; // cr4.LA57
};

struct Translation {
    bool present = false; // if not, the tables say that nothing is mapped there
    std::uint64_t physical = 0;
    bool writable = false;
};

// One entry of a table at a physical address; nothing if that cannot be read.
using ReadEntry = std::function<std::optional<std::uint64_t>(std::uint64_t physical)>;

// 64-bit paging (Intel's manual, volume 3, 4.5). Nothing: no such address, or a table could not be
// read.
std::optional<Translation> walk_page_tables(const PagingState &paging, std::uint64_t address,
                                            const ReadEntry &read);

} // namespace fencepost::tracer
