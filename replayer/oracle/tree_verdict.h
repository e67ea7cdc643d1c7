// SPDX-License-Identifier: GPL-2.0-or-later
// Whether a recovered tree is one that the workload may leave. The rules and their reasons are in
// docs/explanation/oracles.md.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "replayer/oracle/history.h"
#include "replayer/run/promise.h"

namespace fencepost::oracle {

using run::Promise;

// How far the workload had come at a crash, as indices into History::states.
struct OperationSpan {
    std::size_t returned = 0; // the last state of the last operation that returned before the crash
    std::size_t begun = 0;    // the last state of the last operation that began before it
};

// What is wrong with one name.
struct TreeProblem {
    std::string kind; // a field's name, "missing", "unexpected", "twice", "linked", "bytes",
                      // "zeros", "garbage", "cannot read", ...
    std::string path;
    std::string detail;    // in words, without the path: "size is 0, not 1024"
    std::size_t since = 0; // the state that made what is expected; 0: it was so from the start
};

// What a tree lacks to be that of one state.
struct TreeDifference {
    std::size_t state = 0;
    std::vector<TreeProblem> problems;
};

struct TreeVerdict {
    bool legal = true;
    bool undecided = false;      // bytes are missing that the answer needs
    std::size_t first_state = 0; // states from here ...
    std::size_t last_state = 0;  // ... to here were compared with
    std::size_t nearest = 0;     // the one with the fewest problems
    std::vector<TreeProblem> problems;
    // Of an illegal tree, in order of states; of many states the first, the last and the nearest.
    std::vector<TreeDifference> against;
};

TreeVerdict judge_tree(const agent::TreeDump &tree, const History &history,
                       const OperationSpan &span, const Promise &promise);

// The earliest state that the tree may be that of.
std::size_t durable_state(const History &history, const OperationSpan &span,
                          const Promise &promise);

} // namespace fencepost::oracle
