// SPDX-License-Identifier: GPL-2.0-or-later
// A recorded run whose images are judged: its files, its inputs, and PM as it was at the end.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "base/files.h"
#include "replayer/oracle/legal_trees.h"
#include "replayer/run/inputs.h"
#include "replayer/run/run_directory.h"

namespace fencepost::oracle {

// An ext4 with a few files and links in it, all of them durable, and a command that knows them.
extern const char *const kTreeSpec;

struct JudgedRun {
    TemporaryDirectory directory{"/tmp", "fp-judge-"};
    run::RunFiles files{directory.path() / "run"};
    run::Inputs inputs;
    std::filesystem::path last_image = directory.path() / "last"; // PM at the end

    explicit JudgedRun(const std::string &spec = kTreeSpec);
};

// That of kTreeSpec, recorded once, by the first test that asks.
JudgedRun &judged_run();

// The workload is observed unless it was.
LegalTrees legal_trees_of(const JudgedRun &run,
                          const std::function<void(const std::string &)> &progress = {});

} // namespace fencepost::oracle
