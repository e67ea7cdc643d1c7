// SPDX-License-Identifier: GPL-2.0-or-later
// What a virtual address means, where no access has just told. QEMU's own translation is asked
// where the interface has it (level 5); else the guest's page tables are read, through the kernel's
// direct map of physical memory: such a plugin reads by virtual address only.
#pragma once

#include <cstdint>
#include <optional>

#include "qemu-plugin/guest_state.h"
#include "qemu-plugin/page_walk.h"

namespace fencepost::tracer {

class PhysicalMemory {
public:
    explicit PhysicalMemory(GuestState &guest) : guest_(guest) {}

    // A translation that a store has just used. Where the direct map is differs between kernels
    // and, with address randomisation, between boots; stores through it show it.
    void learn(std::uint64_t address, std::uint64_t physical);
    // `paging`: of the vCPU that runs; not needed where QEMU translates. Nothing: not found out.
    std::optional<Translation> translate(const PagingState &paging, std::uint64_t address);
    // By the page tables at `tables` instead. Nothing as well: they are none any more.
    std::optional<Translation> translate_by(std::uint64_t tables, const PagingState &paging,
                                            std::uint64_t address);

private:
    std::optional<std::uint64_t> read(std::uint64_t base, std::uint64_t physical);
    bool is_direct_map(std::uint64_t base, const PagingState &paging);
    bool find_direct_map(const PagingState &paging);
    std::optional<Translation> walk(const PagingState &paging, std::uint64_t address);
    bool same_kernel(std::uint64_t tables, const PagingState &paging);

    GuestState &guest_;
    std::uint64_t base_ = 0;      // of the direct map; 0 = not found yet
    std::uint64_t candidate_ = 0; // from learn()
};

} // namespace fencepost::tracer
