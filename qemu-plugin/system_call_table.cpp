// SPDX-License-Identifier: GPL-2.0-or-later
// See system_call_table.h.
#include "qemu-plugin/system_call_table.h"

#include <sys/syscall.h>

namespace fencepost::tracer {

// Long because it is a table: one line for each system call that takes a path.
PathArguments path_arguments(std::uint64_t number)
{
    switch (number) {
    case SYS_access:
    case SYS_chdir:
    case SYS_chmod:
    case SYS_chown:
    case SYS_chroot:
    case SYS_creat:
    case SYS_execve:
    case SYS_getxattr:
    case SYS_lchown:
    case SYS_lgetxattr:
    case SYS_listxattr:
    case SYS_llistxattr:
    case SYS_lremovexattr:
    case SYS_lsetxattr:
    case SYS_lstat:
    case SYS_mkdir:
    case SYS_mknod:
    case SYS_open:
    case SYS_readlink:
    case SYS_removexattr:
    case SYS_rmdir:
    case SYS_setxattr:
    case SYS_stat:
    case SYS_statfs:
    case SYS_truncate:
    case SYS_umount2:
    case SYS_unlink:
    case SYS_utime:
    case SYS_utimes:
        return {0};
    case SYS_link:
    case SYS_mount:
    case SYS_pivot_root:
    case SYS_rename:
    case SYS_symlink:
        return {0, 1};
    case SYS_symlinkat:
        return {0, 2};
    case SYS_execveat:
    case SYS_faccessat:
    case SYS_faccessat2:
    case SYS_fchmodat:
    case SYS_fchownat:
    case SYS_futimesat:
    case SYS_inotify_add_watch:
    case SYS_mkdirat:
    case SYS_mknodat:
    case SYS_name_to_handle_at:
    case SYS_newfstatat:
    case SYS_open_tree:
    case SYS_openat:
    case SYS_openat2:
    case SYS_readlinkat:
    case SYS_statx:
    case SYS_unlinkat:
    case SYS_utimensat:
        return {1};
    case SYS_linkat:
    case SYS_move_mount:
    case SYS_renameat:
    case SYS_renameat2:
        return {1, 3};
    default:
        return {};
    }
}

} // namespace fencepost::tracer
