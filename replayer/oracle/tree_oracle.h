// SPDX-License-Identifier: GPL-2.0-or-later
// Oracles that compare the recovered tree with legal ones; they differ in where those come from.
#pragma once

#include "replayer/oracle/legal_trees.h"
#include "replayer/oracle/oracle.h"

namespace fencepost::oracle {

struct JudgeSettings;

class TreeOracle : public Oracle {
public:
    // Holds the promise of the run's own file system against it.
    TreeOracle(const std::string &name, const JudgeSettings &settings, LegalTrees legal);

    void ask(agent::JudgeRequest &request) const override;
    void judge(const Hearing &hearing, Judgement &judgement) const override;
    std::optional<std::uint64_t> expectation(std::uint64_t crash_seq) const override;
    const run::ChosenPromise *promise() const override { return &promise_; }

private:
    LegalTrees legal_;
    run::ChosenPromise promise_;
};

// As the workload leaves them on that file system; empty: on its own. NoLegalTrees if it has none.
LegalTrees observe_legal_trees(const JudgeSettings &settings, const std::string &file_system);

} // namespace fencepost::oracle
