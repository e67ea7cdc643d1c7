// SPDX-License-Identifier: GPL-2.0-or-later
// The system calls that change a tree or make it durable. Shared with the host, which finds the
// same ones in a trace.
#pragma once

#include <algorithm>
#include <iterator>

#include <sys/syscall.h>

#include "guest-images/agent/observation.h"

namespace fencepost::agent {

struct ObservedCall {
    long number;
    int file = -1; // which argument is a descriptor; -1: none
    bool write = false;
    Durable durable = Durable::nothing;
};

inline constexpr ObservedCall kObservedCalls[] = {
    {SYS_open},
    {SYS_openat},
    {SYS_creat},
#ifdef SYS_openat2
    {SYS_openat2},
#endif
    {SYS_write, 0, true},
    {SYS_pwrite64, 0, true},
    {SYS_writev, 0, true},
    {SYS_pwritev, 0, true},
    {SYS_pwritev2, 0, true},
    {SYS_sendfile, 0, true},
    {SYS_truncate},
    {SYS_ftruncate, 0},
    {SYS_fallocate, 0},
    {SYS_rename},
    {SYS_renameat},
    {SYS_renameat2},
    {SYS_link},
    {SYS_linkat},
    {SYS_unlink},
    {SYS_unlinkat},
    {SYS_symlink},
    {SYS_symlinkat},
    {SYS_mkdir},
    {SYS_mkdirat},
    {SYS_rmdir},
    {SYS_mknod},
    {SYS_mknodat},
    {SYS_chmod},
    {SYS_fchmod, 0},
    {SYS_fchmodat},
    {SYS_chown},
    {SYS_lchown},
    {SYS_fchown, 0},
    {SYS_fchownat},
    {SYS_setxattr},
    {SYS_lsetxattr},
    {SYS_fsetxattr, 0},
    {SYS_removexattr},
    {SYS_lremovexattr},
    {SYS_fremovexattr, 0},
    {SYS_mmap},
    {SYS_sync, -1, false, Durable::all},
    {SYS_syncfs, 0, false, Durable::all},
    {SYS_fsync, 0, false, Durable::file},
    {SYS_fdatasync, 0, false, Durable::file_data},
    {SYS_msync, -1, false, Durable::file_data},
};

inline const ObservedCall *find_observed_call(long number)
{
    const auto *found =
        std::find_if(std::begin(kObservedCalls), std::end(kObservedCalls),
                     [&](const ObservedCall &call) { return call.number == number; });
    return found == std::end(kObservedCalls) ? nullptr : found;
}

} // namespace fencepost::agent
