// SPDX-License-Identifier: GPL-2.0-or-later
// Which oracles judge a run's images, and what each of them needs to know.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "replayer/oracle/host_oracle.h"
#include "replayer/oracle/image_judge.h"
#include "replayer/oracle/legal_trees.h"

namespace fencepost::oracle {

struct TreeOracle {
    std::string name; // semantic or differential
    LegalTrees legal;
    run::ChosenPromise promise;
};

struct OracleChoice {
    std::optional<run::Mount> mount; // nothing: the run has no file system
    std::vector<OracleFolder> programs;
    std::vector<TreeOracle> trees;
    bool usable = false;
    bool program = false; // the recovery command
};

// As check_oracles() has it for oracles that do not suit the run.
OracleChoice choose_oracles(const JudgeSettings &settings);

} // namespace fencepost::oracle
