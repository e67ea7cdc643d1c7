// SPDX-License-Identifier: GPL-2.0-or-later
// See recipe.h.
#include "guest-images/image/recipe.h"

namespace fencepost::images {

const std::vector<ProgramPackage> &program_packages()
{
    static const std::vector<ProgramPackage> packages = {
        {"busybox-static", {"busybox"}, {}},
        {"e2fsprogs",
         {"chattr", "debugfs", "dumpe2fs", "e2fsck", "filefrag", "fsck.ext2", "fsck.ext4", "lsattr",
          "mke2fs", "mkfs.ext2", "mkfs.ext4", "resize2fs", "tune2fs"},
         {"etc/mke2fs.conf"}},
        {"xfsprogs",
         {"mkfs.xfs", "xfs_bmap", "xfs_db", "xfs_io", "xfs_logprint", "xfs_metadump", "xfs_repair"},
         {}},
    };
    return packages;
}

const std::vector<LibraryPackage> &library_packages()
{
    static const std::vector<LibraryPackage> packages = {
        {"libpmem1", {"libpmem.so.1"}},
        {"libpmemobj1", {"libpmemobj.so.1"}},
        {"libstdc++6", {"libstdc++.so.6"}},
        // Empty since glibc 2.34, but programs that were linked before it name them.
        {"libc6", {"libdl.so.2", "libpthread.so.0", "librt.so.1"}},
    };
    return packages;
}

const std::vector<std::string> &default_modules()
{
    static const std::vector<std::string> modules = {
        // The agent's channels.
        "virtio_pci",
        "virtio_console",
        // Checksums: file systems ask for them by algorithm, which no dependency shows.
        "crc32c_generic",
        "crc32c_intel",
        "libcrc32c",
        // Persistent memory by NFIT and by memory map.
        "nfit",
        "nd_btt",
        "nd_pmem",
        "nd_e820",
        // File systems.
        "ext4",
        "xfs",
    };
    return modules;
}

} // namespace fencepost::images
