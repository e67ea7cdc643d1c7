// SPDX-License-Identifier: GPL-2.0-or-later
// The judge of a run's crash images: asks the oracles that the run's spec, or its user, chose.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "replayer/oracle/judge.h"
#include "replayer/record/recorder.h"
#include "replayer/record/run_directory.h"

namespace fencepost::oracle {

struct JudgeSettings {
    record::RunFiles run;
    record::RecordInputs inputs; // of the run
    // Names; empty: the spec's choice, or what suits its file system. An unknown one is a usage
    // error.
    std::vector<std::string> oracles = {};
    std::filesystem::path cache;
    std::function<void(const std::string &line)> progress = {};
    bool closing_checks =
        true; // false: `usable` without the check after it, to measure guests alone
};

// Usage errors for oracles that do not exist or do not suit the run. `file_system`: empty if it has
// none.
void check_oracles(const std::vector<std::string> &names, const std::string &file_system,
                   bool has_recovery);

// May take a while: what the oracles need to know about the workload is found out first, or taken
// from the run directory where an earlier test left it.
std::unique_ptr<Judge> make_judge(const JudgeSettings &settings);

} // namespace fencepost::oracle
