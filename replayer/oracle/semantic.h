// SPDX-License-Identifier: GPL-2.0-or-later
// Whether a recovered tree is one that the workload may leave. The rules and their reasons are in
// docs/explanation/oracles.md.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "replayer/oracle/history.h"

namespace fencepost::oracle {

enum class Semantics {
    sync,  // what has returned is durable, and each operation is atomic
    fsync, // what was synced is durable; the rest is that of some later operation
};

struct SemanticRules {
    Semantics semantics = Semantics::fsync;
    // Sizes of files that were not synced may lag behind the rest of the tree: delayed allocation.
    bool sizes_lag = false;
    // Bytes of files that were not synced may be anything: data=writeback without DAX.
    bool stale_bytes = false;
};

// As indices into History::states.
struct Window {
    std::size_t returned = 0; // the last state of the last operation that returned before the crash
    std::size_t begun = 0;    // the last state of the last operation that began before it
};

// What is wrong with one name.
struct TreeProblem {
    std::string kind; // a field's name, "missing", "unexpected", "twice", "linked", "bytes",
                      // "zeros", "garbage", "cannot read", ...
    std::string path;
    std::string detail;
};

struct TreeVerdict {
    bool legal = true;
    bool undecided = false;      // bytes are missing that the answer needs
    std::size_t first_state = 0; // states from here ...
    std::size_t last_state = 0;  // ... to here were compared with
    std::size_t nearest = 0;     // the one with the fewest problems
    std::vector<TreeProblem> problems;
};

TreeVerdict judge_tree(const agent::TreeDump &tree, const History &history, const Window &window,
                       const SemanticRules &rules);

// The earliest state that the tree may be that of.
std::size_t durable_state(const History &history, const Window &window, const SemanticRules &rules);

} // namespace fencepost::oracle
