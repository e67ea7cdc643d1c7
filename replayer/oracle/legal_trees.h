// SPDX-License-Identifier: GPL-2.0-or-later
// A run's history beside its trace: which states of the workload belong to a crash at some event.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "replayer/oracle/history.h"
#include "replayer/oracle/tree_verdict.h"
#include "replayer/run/inputs.h"
#include "replayer/run/observations.h"
#include "trace/reader.h"

namespace fencepost::oracle {

// Something that the workload did, by its place in the trace.
struct TracedOperation {
    std::uint64_t first_seq = 0;
    std::uint64_t last_seq = UINT64_MAX; // UINT64_MAX: it did not return
    std::size_t last_state = 0;          // of the history, when it has returned
    std::string text;
};

class LegalTrees {
public:
    LegalTrees(History history, std::vector<TracedOperation> operations);

    const History &history() const { return history_; }
    const std::vector<TracedOperation> &operations() const { return operations_; }
    // `crash_seq`: the first event that did not happen. Operations that were in progress at the
    // same time have returned when all of them have.
    OperationSpan span_at(std::uint64_t crash_seq) const;
    // The latest state, up to this one, that a sync has reached; 0: none.
    std::size_t last_sync(std::size_t state) const;
    // The operation in which a state was reached, in the workload's words; empty: none.
    std::string operation_of(std::size_t state) const;

private:
    History history_;
    std::vector<TracedOperation> operations_; // in order of first_seq
};

// Why the run has no legal trees, whatever is observed; empty: it may have some.
std::string why_no_legal_trees(const trace::TraceReader &reader, const run::Inputs &inputs);

// Throws NoLegalTrees for a workload that cannot be judged by its trees.
LegalTrees find_legal_trees(const trace::TraceReader &reader, const run::Inputs &inputs,
                            const run::Observations &observations,
                            const std::function<void(const std::string &line)> &progress);

} // namespace fencepost::oracle
