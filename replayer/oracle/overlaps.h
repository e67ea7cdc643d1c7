// SPDX-License-Identifier: GPL-2.0-or-later
// Operations of several threads or processes that are in progress at the same time. A history has
// one order of them, and a crash may leave any: one of two without the other, whichever it is.
#pragma once

#include <optional>
#include <vector>

#include "replayer/oracle/legal_trees.h"

namespace fencepost::oracle {

// Of the recording and of the run that was observed.
std::vector<Overlap> find_overlaps(const History &history,
                                   const std::vector<TracedOperation> &operations);

// `against`: what a tree lacks to be that of one state, for each of a row of them. Where they
// overlap, each name by itself may be as in any of the states, and a name that several of them
// change is not judged: what is wrong in any case is left. The last of the states that explain the
// tree this way; nothing: none.
std::optional<std::size_t> explain_by_overlap(std::vector<TreeDifference> &against,
                                              const History &history);

} // namespace fencepost::oracle
