// SPDX-License-Identifier: GPL-2.0-or-later
// See overlaps.h.
#include "replayer/oracle/overlaps.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>

namespace fencepost::oracle {

using agent::TreeEntry;

namespace {

// What one state has changed.
struct Changes {
    std::set<std::string> names;
    std::set<std::uint64_t> inodes;
};

Changes changes_of(const Tree &older, const Tree &newer)
{
    Changes changes;
    const auto add_missing = [&](const Tree &from, const Tree &to) {
        for (const auto &[path, entry] : from.entries()) {
            const TreeEntry *other = to.find(path);
            if (other && *other == entry)
                continue;
            changes.names.insert(path);
            changes.inodes.insert(entry.inode);
        }
    };
    add_missing(older, newer);
    add_missing(newer, older);
    return changes;
}

// Names that several states after `first` have changed, up to `last`, by themselves or by another
// name of the same inode.
std::set<std::string> names_changed_twice(const History &history, std::size_t first,
                                          std::size_t last)
{
    std::map<std::string, unsigned> names;
    std::map<std::uint64_t, unsigned> inodes;
    for (std::size_t i = first + 1; i <= last; ++i) {
        const Changes changes = changes_of(history.tree_at(i - 1), history.tree_at(i));
        for (const std::string &name : changes.names)
            ++names[name];
        for (const std::uint64_t inode : changes.inodes)
            ++inodes[inode];
    }
    std::set<std::string> twice;
    for (const auto &[name, count] : names)
        if (count > 1)
            twice.insert(name);
    for (std::size_t i = first; i <= last; ++i)
        for (const auto &[path, entry] : history.tree_at(i).entries())
            if (const auto found = inodes.find(entry.inode);
                found != inodes.end() && found->second > 1)
                twice.insert(path);
    return twice;
}

// Leaves the problems of names that have one whichever the state is. Whether there are any.
bool keep_common(std::span<TreeDifference> states, const std::set<std::string> &left_out)
{
    std::map<std::string, std::size_t> wrong; // name to the number of states
    for (const TreeDifference &state : states) {
        std::set<std::string> names;
        for (const TreeProblem &problem : state.problems)
            names.insert(problem.path);
        for (const std::string &name : names)
            ++wrong[name];
    }
    for (TreeDifference &state : states)
        std::erase_if(state.problems, [&](const TreeProblem &problem) {
            return wrong[problem.path] < states.size() || left_out.contains(problem.path);
        });
    return !states[0].problems.empty();
}

// The first state of a call that returned while the call of state `at` was in progress; `at`: of
// none.
std::size_t first_meanwhile(const std::vector<TreeState> &states, std::size_t at)
{
    const std::uint32_t ordinal = states[at].call_ordinal - states[at].calls_meanwhile;
    std::size_t first = at;
    for (std::size_t i = at; i-- > 1;) {
        if (states[i].call_ordinal >= ordinal)
            first = i;
        else if (states[i].call_ordinal != 0) // a mark of a script has none
            break;
    }
    return first;
}

// Those that share states become one; a state by itself is none.
std::vector<Overlap> merged(std::vector<Overlap> overlaps)
{
    std::sort(overlaps.begin(), overlaps.end(),
              [](const Overlap &a, const Overlap &b) { return a.first < b.first; });
    std::erase_if(overlaps, [](const Overlap &each) { return each.first == each.last; });
    std::vector<Overlap> all;
    for (const Overlap &each : overlaps)
        if (!all.empty() && each.first <= all.back().last)
            all.back().last = std::max(all.back().last, each.last);
        else
            all.push_back(each);
    return all;
}

} // namespace

std::vector<Overlap> find_overlaps(const History &history,
                                   const std::vector<TracedOperation> &operations)
{
    std::vector<Overlap> overlaps;
    std::vector<const TracedOperation *> by_return;
    for (const TracedOperation &operation : operations)
        by_return.push_back(&operation);
    std::stable_sort(by_return.begin(), by_return.end(),
                     [](const auto *a, const auto *b) { return a->last_seq < b->last_seq; });
    for (const TracedOperation &operation : operations) {
        // The first that returned after this one had begun.
        const auto other =
            std::partition_point(by_return.begin(), by_return.end(), [&](const auto *each) {
                return each->last_seq <= operation.first_seq;
            });
        if (other != by_return.end() && (*other)->last_state < operation.last_state)
            overlaps.push_back({(*other)->last_state, operation.last_state});
    }
    for (std::size_t i = 0; i < history.states.size(); ++i)
        if (history.states[i].calls_meanwhile != 0)
            overlaps.push_back({first_meanwhile(history.states, i), i});
    return merged(std::move(overlaps));
}

std::optional<std::size_t> explain_by_overlap(std::vector<TreeDifference> &against,
                                              const History &history)
{
    if (against.empty())
        return std::nullopt;
    const std::size_t from = against.front().state;
    const std::size_t to = against.back().state;
    std::optional<std::size_t> explained;
    for (const Overlap &overlap : history.overlaps) {
        const std::size_t first = std::max(overlap.first - 1, from);
        const std::size_t last = std::min(overlap.last, to);
        if (first >= last)
            continue;
        const std::span states(against.data() + (first - from), last - first + 1);
        if (!keep_common(states, names_changed_twice(history, first, last)))
            explained = last;
    }
    return explained;
}

} // namespace fencepost::oracle
