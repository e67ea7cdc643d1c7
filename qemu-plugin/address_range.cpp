// SPDX-License-Identifier: GPL-2.0-or-later
// See address_range.h.
#include "qemu-plugin/address_range.h"

#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>

namespace fencepost::tracer {

std::array<AddressRange, 2> remapped_by(std::uint64_t system_call,
                                        const std::array<std::uint64_t, 6> &arguments)
{
    const AddressRange first = {arguments[0], arguments[1]};
    switch (system_call) {
    case SYS_munmap:
    case SYS_remap_file_pages:
        return {first};
    case SYS_mmap:
        if (arguments[3] & MAP_FIXED)
            return {first};
        return {};
    case SYS_mremap:
        if (arguments[3] & MREMAP_FIXED)
            return {first, {arguments[4], arguments[2]}};
        return {first};
    case SYS_shmat: // only the kernel knows how long the segment is
        if (arguments[2] & SHM_REMAP)
            return {AddressRange{arguments[1], UINT64_MAX}};
        return {};
    default:
        return {};
    }
}

} // namespace fencepost::tracer
