// SPDX-License-Identifier: GPL-2.0-or-later
// Which pages of a PM file a machine has touched.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include <sys/types.h>

#include "base/fd.h"

namespace fencepost::test {

inline constexpr std::uint64_t kPageBytes = 4096;

struct PageRange {
    std::uint64_t first = 0; // page of the file
    std::uint64_t count = 0;
};

// Asks the kernel which pages of QEMU's mapping of the file are present: those that the guest read
// or wrote since QEMU was started, and some of their neighbours.
class TouchedPages {
public:
    // `end_fd`: the machine's pidfd.
    TouchedPages(int end_fd, std::filesystem::path file, std::uint64_t size);

    // Nothing: the kernel does not say (another user's process, a mapping that is not there, an
    // ended one).
    std::optional<std::vector<PageRange>> read();

private:
    std::optional<std::vector<PageRange>> scan();
    std::optional<std::vector<PageRange>> read_entries();

    std::uint64_t size_;
    std::uint64_t address_ = 0; // of the mapping in QEMU; 0: not found
    Fd pagemap_;
    bool can_scan_ = true;
    std::vector<std::uint64_t> entries_;
};

} // namespace fencepost::test
