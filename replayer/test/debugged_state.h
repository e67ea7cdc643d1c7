// SPDX-License-Identifier: GPL-2.0-or-later
// A crash image's recovery under a debugger: the guest stands still before it until the debugger
// says go on.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "replayer/test/judged_state.h"

namespace fencepost::test {

struct DebugRequest {
    // vmlinux, or modules (NAME.ko), with what a debugger wants to know. Of what is not named,
    // there are the names that the guest's kernel tells.
    std::vector<std::filesystem::path> symbols = {};
};

// `ready` is told the command that starts the debugger; `say` how recovery went. Returns when a
// debugger has come and gone.
void debug_recovery(JudgedState &state, const DebugRequest &request,
                    const std::function<void(const std::string &command)> &ready,
                    const std::function<void(const std::string &line)> &say);

} // namespace fencepost::test
