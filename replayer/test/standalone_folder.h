// SPDX-License-Identifier: GPL-2.0-or-later
// A folder that can be mailed: reproduce.sh with the kernel, the initramfs and the crash image that
// it needs, and nothing else.
#pragma once

#include <cstdint>
#include <filesystem>

#include "replayer/test/judged_state.h"

namespace fencepost::test {

// Usage errors for what is there already and is no empty folder.
void check_export(const std::filesystem::path &folder);

struct ExportedFolder {
    std::uint64_t bytes = 0;
    std::uint64_t bytes_on_disk = 0; // holes left out
};

// `judgement`: a failure of the state. The folder appears when it is whole. A failure that a plain
// boot cannot show is an Error(usage).
ExportedFolder export_standalone(JudgedState &state, const oracle::Judgement &judgement,
                                 const std::filesystem::path &cache,
                                 const std::filesystem::path &folder);

} // namespace fencepost::test
