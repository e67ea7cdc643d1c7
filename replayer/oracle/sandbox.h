// SPDX-License-Identifier: GPL-2.0-or-later
// Programs that read crash images run here: without privileges, network or files of the host but
// what they are given, within limits of time and memory. An image may be made to attack its own
// checker.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/child_process.h"

namespace fencepost::oracle {

struct SandboxLimits {
    std::chrono::milliseconds time{60'000}; // on the host's clock
    std::uint64_t memory = 1ull << 30;      // bytes of address space, and of /tmp
    std::uint64_t processes = 512;          // and threads; not kept where root has user namespaces
    std::uint64_t output = 1 << 20;         // bytes of each stream
    std::uint64_t file = 2ull << 30;        // bytes of one file that it writes
};

struct SandboxFile {
    std::filesystem::path host;
    std::string inside; // absolute
    bool writable = false;
};

// An io error if bubblewrap is missing or cannot start anything.
CommandResult run_sandboxed(const std::vector<std::string> &argv,
                            const std::vector<SandboxFile> &files, const SandboxLimits &limits);

} // namespace fencepost::oracle
