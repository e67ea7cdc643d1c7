// SPDX-License-Identifier: GPL-2.0-or-later
// The judge of a run's crash images: asks the oracles that the run's spec, or its user, chose.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "replayer/oracle/judge.h"
#include "replayer/run/inputs.h"
#include "replayer/run/observations.h"
#include "replayer/run/run_directory.h"

namespace fencepost::oracle {

struct JudgeSettings {
    run::RunFiles run;
    run::Inputs inputs; // of the run
    // Names; empty: the spec's choice, or what suits its file system. An unknown one is a usage
    // error.
    std::vector<std::string> oracles = {};
    std::filesystem::path cache; // for copies of images
    // Asked once for each oracle that compares trees: the workload without a crash, on its own file
    // system (empty) or on another.
    std::function<run::Observations(const std::string &file_system)> observe = {};
    std::function<void(const std::string &line)> progress = {};
    bool closing_checks =
        true; // false: `usable` without the check after it, to measure guests alone
};

// Usage errors for oracles that do not exist or do not suit the run. `file_system`: empty if it has
// none.
void check_oracles(const std::vector<std::string> &names, const std::string &file_system,
                   bool has_recovery);

// May take a while: what the oracles need to know about the workload is observed first.
std::unique_ptr<Judge> make_judge(const JudgeSettings &settings);

} // namespace fencepost::oracle
