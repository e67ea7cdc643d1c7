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
    const char *name;
    int file = -1; // which argument is a descriptor; -1: none
    bool write = false;
    Durable durable = Durable::nothing;
};

inline constexpr ObservedCall kObservedCalls[] = {
    {SYS_open, "open"},
    {SYS_openat, "openat"},
    {SYS_creat, "creat"},
#ifdef SYS_openat2
    {SYS_openat2, "openat2"},
#endif
    {SYS_write, "write", 0, true},
    {SYS_pwrite64, "pwrite", 0, true},
    {SYS_writev, "writev", 0, true},
    {SYS_pwritev, "pwritev", 0, true},
    {SYS_pwritev2, "pwritev2", 0, true},
    {SYS_sendfile, "sendfile", 0, true},
    // Which of their arguments is written to does not matter: the tree is looked at.
    {SYS_copy_file_range, "copy_file_range"},
    {SYS_splice, "splice"},
    {SYS_truncate, "truncate"},
    {SYS_ftruncate, "ftruncate", 0},
    {SYS_fallocate, "fallocate", 0},
    {SYS_rename, "rename"},
    {SYS_renameat, "renameat"},
    {SYS_renameat2, "renameat2"},
    {SYS_link, "link"},
    {SYS_linkat, "linkat"},
    {SYS_unlink, "unlink"},
    {SYS_unlinkat, "unlinkat"},
    {SYS_symlink, "symlink"},
    {SYS_symlinkat, "symlinkat"},
    {SYS_mkdir, "mkdir"},
    {SYS_mkdirat, "mkdirat"},
    {SYS_rmdir, "rmdir"},
    {SYS_mknod, "mknod"},
    {SYS_mknodat, "mknodat"},
    {SYS_chmod, "chmod"},
    {SYS_fchmod, "fchmod", 0},
    {SYS_fchmodat, "fchmodat"},
    {SYS_chown, "chown"},
    {SYS_lchown, "lchown"},
    {SYS_fchown, "fchown", 0},
    {SYS_fchownat, "fchownat"},
    {SYS_setxattr, "setxattr"},
    {SYS_lsetxattr, "lsetxattr"},
    {SYS_fsetxattr, "fsetxattr", 0},
    {SYS_removexattr, "removexattr"},
    {SYS_lremovexattr, "lremovexattr"},
    {SYS_fremovexattr, "fremovexattr", 0},
    {SYS_mmap, "mmap"},
    {SYS_sync, "sync", -1, false, Durable::all},
    {SYS_syncfs, "syncfs", 0, false, Durable::all},
    {SYS_fsync, "fsync", 0, false, Durable::file},
    {SYS_fdatasync, "fdatasync", 0, false, Durable::file_data},
    {SYS_msync, "msync", -1, false, Durable::file_data},
};

inline const ObservedCall *find_observed_call(long number)
{
    const auto *found =
        std::find_if(std::begin(kObservedCalls), std::end(kObservedCalls),
                     [&](const ObservedCall &call) { return call.number == number; });
    return found == std::end(kObservedCalls) ? nullptr : found;
}

} // namespace fencepost::agent
