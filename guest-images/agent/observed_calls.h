// SPDX-License-Identifier: GPL-2.0-or-later
// The system calls that change a tree or make it durable. Shared with the host, which finds the
// same ones in a trace.
#pragma once

#include <algorithm>
#include <array>
#include <initializer_list>
#include <iterator>

#include <sys/syscall.h>

#include "guest-images/agent/observation.h"

namespace fencepost::agent {

// Indexes of arguments; those that are not there are -1.
template <std::size_t kMost> class ArgumentList {
public:
    constexpr ArgumentList() { indexes_.fill(-1); }
    constexpr ArgumentList(std::initializer_list<int> indexes) : ArgumentList()
    {
        std::copy(indexes.begin(), indexes.end(), indexes_.begin());
    }
    constexpr auto begin() const { return indexes_.begin(); }
    constexpr auto end() const { return std::find(indexes_.begin(), indexes_.end(), -1); }

private:
    std::array<int, kMost> indexes_;
};

struct ObservedCall {
    long number;
    const char *name;
    int file = -1; // which argument is a descriptor; -1: none
    bool write = false;
    Durable durable = Durable::nothing;
    ArgumentList<2> paths = {};
    ArgumentList<5> numbers = {}; // that are the same each time, unlike addresses
};

inline constexpr ObservedCall kObservedCalls[] = {
    {.number = SYS_open, .name = "open", .paths = {0}, .numbers = {1}},
    {.number = SYS_openat, .name = "openat", .paths = {1}, .numbers = {2}},
    {.number = SYS_creat, .name = "creat", .paths = {0}},
#ifdef SYS_openat2
    {.number = SYS_openat2, .name = "openat2", .paths = {1}},
#endif
    {.number = SYS_write, .name = "write", .file = 0, .write = true, .numbers = {0, 2}},
    {.number = SYS_pwrite64, .name = "pwrite", .file = 0, .write = true, .numbers = {0, 2, 3}},
    {.number = SYS_writev, .name = "writev", .file = 0, .write = true, .numbers = {0, 2}},
    {.number = SYS_pwritev, .name = "pwritev", .file = 0, .write = true, .numbers = {0, 2, 3}},
    {.number = SYS_pwritev2, .name = "pwritev2", .file = 0, .write = true, .numbers = {0, 2, 3, 5}},
    {.number = SYS_sendfile, .name = "sendfile", .file = 0, .write = true, .numbers = {0, 1, 3}},
    // Which of their arguments is written to does not matter: the tree is looked at.
    {.number = SYS_copy_file_range, .name = "copy_file_range", .numbers = {0, 2, 4}},
    {.number = SYS_splice, .name = "splice", .numbers = {0, 2, 4}},
    {.number = SYS_truncate, .name = "truncate", .paths = {0}, .numbers = {1}},
    {.number = SYS_ftruncate, .name = "ftruncate", .file = 0, .numbers = {0, 1}},
    {.number = SYS_fallocate, .name = "fallocate", .file = 0, .numbers = {0, 1, 2, 3}},
    {.number = SYS_rename, .name = "rename", .paths = {0, 1}},
    {.number = SYS_renameat, .name = "renameat", .paths = {1, 3}},
    {.number = SYS_renameat2, .name = "renameat2", .paths = {1, 3}, .numbers = {4}},
    {.number = SYS_link, .name = "link", .paths = {0, 1}},
    {.number = SYS_linkat, .name = "linkat", .paths = {1, 3}},
    {.number = SYS_unlink, .name = "unlink", .paths = {0}},
    {.number = SYS_unlinkat, .name = "unlinkat", .paths = {1}},
    {.number = SYS_symlink, .name = "symlink", .paths = {0, 1}},
    {.number = SYS_symlinkat, .name = "symlinkat", .paths = {0, 2}},
    {.number = SYS_mkdir, .name = "mkdir", .paths = {0}},
    {.number = SYS_mkdirat, .name = "mkdirat", .paths = {1}},
    {.number = SYS_rmdir, .name = "rmdir", .paths = {0}},
    {.number = SYS_mknod, .name = "mknod", .paths = {0}},
    {.number = SYS_mknodat, .name = "mknodat", .paths = {1}},
    {.number = SYS_chmod, .name = "chmod", .paths = {0}, .numbers = {1}},
    {.number = SYS_fchmod, .name = "fchmod", .file = 0, .numbers = {0, 1}},
    {.number = SYS_fchmodat, .name = "fchmodat", .paths = {1}, .numbers = {2}},
    {.number = SYS_chown, .name = "chown", .paths = {0}, .numbers = {1, 2}},
    {.number = SYS_lchown, .name = "lchown", .paths = {0}, .numbers = {1, 2}},
    {.number = SYS_fchown, .name = "fchown", .file = 0, .numbers = {0, 1, 2}},
    {.number = SYS_fchownat, .name = "fchownat", .paths = {1}, .numbers = {2, 3}},
    {.number = SYS_setxattr, .name = "setxattr", .paths = {0}, .numbers = {3}},
    {.number = SYS_lsetxattr, .name = "lsetxattr", .paths = {0}, .numbers = {3}},
    {.number = SYS_fsetxattr, .name = "fsetxattr", .file = 0, .numbers = {0, 3}},
    {.number = SYS_removexattr, .name = "removexattr", .paths = {0}},
    {.number = SYS_lremovexattr, .name = "lremovexattr", .paths = {0}},
    {.number = SYS_fremovexattr, .name = "fremovexattr", .file = 0, .numbers = {0}},
    {.number = SYS_mmap, .name = "mmap", .numbers = {1, 2, 3, 4, 5}},
    {.number = SYS_sync, .name = "sync", .durable = Durable::all},
    {.number = SYS_syncfs, .name = "syncfs", .file = 0, .durable = Durable::all, .numbers = {0}},
    {.number = SYS_fsync, .name = "fsync", .file = 0, .durable = Durable::file, .numbers = {0}},
    {.number = SYS_fdatasync,
     .name = "fdatasync",
     .file = 0,
     .durable = Durable::file_data,
     .numbers = {0}},
    {.number = SYS_msync, .name = "msync", .durable = Durable::file_data, .numbers = {1, 2}},
};

inline const ObservedCall *find_observed_call(long number)
{
    const auto *found =
        std::find_if(std::begin(kObservedCalls), std::end(kObservedCalls),
                     [&](const ObservedCall &call) { return call.number == number; });
    return found == std::end(kObservedCalls) ? nullptr : found;
}

} // namespace fencepost::agent
