// SPDX-License-Identifier: GPL-2.0-or-later
// See tree_verdict.h.
#include "replayer/oracle/tree_verdict.h"

#include <algorithm>

#include "base/error.h"
#include "replayer/oracle/overlaps.h"
#include "replayer/oracle/tree_comparison.h"

namespace fencepost::oracle {

using agent::Durable;
using agent::TreeEntry;

namespace {

constexpr std::size_t kProblemLimit = 8;
constexpr std::size_t kStateLimit = 8;

// The last state up to `upto` whose tree `changed` says differs from the one before it.
template <typename Changed>
std::size_t last_change(const History &history, std::size_t upto, Changed changed)
{
    for (std::size_t i = upto; i > 0; --i)
        if (history.states[i].tree != history.states[i - 1].tree && changed(i))
            return i;
    return 0;
}

// What fdatasync cares for. Not that a file lost its last name or got its first one: its data is
// there all the same for those who have it open.
bool data_changed(const History &history, std::size_t state, std::uint64_t inode)
{
    const TreeEntry *older = history.tree_at(state - 1).by_inode(inode);
    const TreeEntry *newer = history.tree_at(state).by_inode(inode);
    if (!newer)
        return false;
    if (!older)
        return !is_link(history.states[state]);
    return older->size != newer->size || older->holes != newer->holes;
}

// What fsync cares for. An exchange is a change of directories: XFS does not even log the two
// inodes that have other names then.
bool inode_changed(const History &history, std::size_t state, std::uint64_t inode)
{
    const bool with_names = !history.states[state].exchanged;
    return history.tree_at(state - 1).describe_inode(inode, with_names) !=
           history.tree_at(state).describe_inode(inode, with_names);
}

// Of states in a row with the same tree one is enough, and of many a few.
void keep_few(std::vector<TreeDifference> &against, const History &history, std::size_t nearest)
{
    const auto tree_of = [&](const TreeDifference &each) {
        return history.states[each.state].tree;
    };
    std::vector<TreeDifference> kept;
    for (TreeDifference &each : against)
        if (kept.empty() || tree_of(kept.back()) != tree_of(each) || each.state == nearest)
            kept.push_back(std::move(each));
    while (kept.size() > kStateLimit) {
        std::size_t drop = kept.size() / 2;
        if (kept[drop].state == nearest)
            ++drop;
        kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(drop));
    }
    against = std::move(kept);
}

void cut(std::vector<TreeProblem> &problems)
{
    if (problems.size() > kProblemLimit)
        problems.resize(kProblemLimit);
}

// The one with the fewest problems, the latest of several.
void choose_nearest(TreeVerdict &verdict)
{
    const TreeDifference *nearest = nullptr;
    for (const TreeDifference &each : verdict.against)
        if (!nearest || each.problems.size() <= nearest->problems.size())
            nearest = &each;
    verdict.nearest = nearest->state;
    verdict.problems = nearest->problems;
    cut(verdict.problems);
}

} // namespace

std::size_t durable_state(const History &history, const OperationSpan &span, const Promise &promise)
{
    if (promise.durable == run::Durability::on_return)
        return span.returned;
    std::size_t durable = 0;
    for (std::size_t i = 0; i <= span.returned; ++i) {
        const TreeState &state = history.states[i];
        switch (state.durable) {
        case Durable::nothing:
            break;
        case Durable::all:
            durable = std::max(durable, i);
            break;
        case Durable::file:
            durable = std::max(durable, last_change(history, i, [&](std::size_t at) {
                                   return inode_changed(history, at, state.inode);
                               }));
            break;
        case Durable::file_data:
            durable = std::max(durable, last_change(history, i, [&](std::size_t at) {
                                   return data_changed(history, at, state.inode);
                               }));
            break;
        }
    }
    return durable;
}

TreeVerdict judge_tree(const agent::TreeDump &dump, const History &history,
                       const OperationSpan &span, const Promise &promise)
{
    CHECK(span.returned <= span.begun && span.begun < history.states.size(),
          "a span of a workload's states");
    TreeVerdict verdict;
    const Tree tree(dump.entries);
    verdict.first_state = durable_state(history, span, promise);
    verdict.last_state = span.begun;
    bool undecided = dump.truncated;
    // From the last: of states that explain a tree equally badly the latest is most likely what was
    // meant.
    for (std::size_t i = span.begun + 1; i-- > verdict.first_state;) {
        TreeComparison comparison({dump, tree, history, span, promise, verdict.first_state, i});
        std::vector<TreeProblem> problems = comparison.run();
        undecided = undecided || comparison.undecided();
        if (problems.empty()) {
            verdict.undecided = comparison.undecided() || dump.truncated;
            verdict.nearest = i;
            verdict.against.clear();
            return verdict;
        }
        verdict.against.push_back({i, std::move(problems)});
    }
    std::reverse(verdict.against.begin(), verdict.against.end());
    if (const auto explained = explain_by_overlap(verdict.against, history)) {
        verdict.undecided = undecided;
        verdict.nearest = *explained;
        verdict.against.clear();
        return verdict;
    }
    verdict.legal = false;
    choose_nearest(verdict);
    for (TreeDifference &each : verdict.against)
        cut(each.problems);
    keep_few(verdict.against, history, verdict.nearest);
    return verdict;
}

} // namespace fencepost::oracle
