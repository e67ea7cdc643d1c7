// SPDX-License-Identifier: GPL-2.0-or-later
// What the judge of a run, and each of its oracles, is made from.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "replayer/oracle/own_oracle.h"
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
    // The caller's own, for the names among them that are no others'.
    OwnOracles own = {};
    std::filesystem::path cache; // for copies of images
    // Asked once for each oracle that compares trees: the workload without a crash, on its own file
    // system (empty) or on another.
    std::function<run::Observations(const std::string &file_system)> observe = {};
    std::function<void(const std::string &line)> progress = {};
    bool closing_checks =
        true; // false: `usable` without the check after it, to measure guests alone

    void say(const std::string &line) const
    {
        if (progress)
            progress(line);
    }
};

} // namespace fencepost::oracle
