// SPDX-License-Identifier: GPL-2.0-or-later
// What the verdicts on a run come from. A verdict is not mixed with those of another kernel,
// module, agent, oracle or promise.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "replayer/oracle/own_oracle.h"
#include "replayer/record/recorder.h"
#include "replayer/run/run_directory.h"

namespace fencepost::test {

struct Producer {
    std::string name;   // in results.db, table `about`
    std::string words;  // for people: "the kernel vmlinuz"
    std::string digest; // of its contents
};

// `image`: of the guest; `oracles`: as they were asked for, none: the default ones; `own`: the
// caller's, which may be among them.
std::vector<Producer> producers_of(const std::filesystem::path &cache, const std::string &image,
                                   const run::RunFiles &run, const run::Inputs &inputs,
                                   const std::vector<std::string> &oracles,
                                   const oracle::OwnOracles &own);

} // namespace fencepost::test
