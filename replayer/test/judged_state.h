// SPDX-License-Identifier: GPL-2.0-or-later
// One crash state of a run, recovered in a guest of its own and judged.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "replayer/guest/guest_config.h"
#include "replayer/oracle/judge.h"
#include "replayer/run/run_directory.h"

namespace fencepost::test {

struct StateRequest {
    std::string state;                        // its id
    std::vector<std::string> incidental = {}; // empty: what the spec says
    std::vector<std::string> oracles = {};    // likewise
    std::string backend = "process";
    std::optional<guest::Accelerator> accelerator = {}; // nothing: KVM where it works
};

// The recovered tree is part of the judgement, also of a pass, if an oracle asks for one.
// Objections that healthy images get too are not masked. Changes nothing in the run. An id that is
// not one of this trace's is an Error(usage).
oracle::Judgement judge_state(const run::RunFiles &files, const std::filesystem::path &cache,
                              const StateRequest &request,
                              const std::function<void(const std::string &line)> &say);

} // namespace fencepost::test
