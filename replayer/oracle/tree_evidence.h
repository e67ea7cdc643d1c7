// SPDX-License-Identifier: GPL-2.0-or-later
// What is wrong with a recovered tree, in words that a person can use: from which operation, and
// how it differs from each state that would have been legal.
#pragma once

#include <string>

#include "replayer/oracle/judge.h"
#include "replayer/oracle/legal_trees.h"
#include "replayer/oracle/tree_verdict.h"

namespace fencepost::oracle {

// "rename foo bar: both names are gone"
std::string title_of(const TreeVerdict &verdict, const agent::TreeDump &tree,
                     const LegalTrees &legal, const OperationSpan &span, const Promise &promise);

// Of a verdict that is not a pass. `oracle`: who says it.
Evidence tree_evidence(const std::string &oracle, const TreeVerdict &verdict,
                       const agent::TreeDump &tree, const LegalTrees &legal,
                       const OperationSpan &span, const run::ChosenPromise &promise);

// Everything that was seen of a tree.
nlohmann::json tree_json(const agent::TreeDump &tree);

} // namespace fencepost::oracle
