// SPDX-License-Identifier: GPL-2.0-or-later
// One recovered tree against one state of the workload.
#pragma once

#include <string>
#include <vector>

#include "replayer/oracle/tree_verdict.h"

namespace fencepost::oracle {

// What is compared, and by which promise.
struct ComparedTree {
    const agent::TreeDump &dump;
    const Tree &tree; // the dump's
    const History &history;
    const OperationSpan &span;
    const Promise &promise;
    std::size_t first; // the earliest state that is legal
    std::size_t state; // this one
};

// The state gave a name to a file that had none but was there: O_TMPFILE.
bool is_link(const TreeState &state);

class TreeComparison {
public:
    explicit TreeComparison(const ComparedTree &compared)
        : compared_(compared), tree_(compared.tree), history_(compared.history),
          legal_(compared.history.tree_at(compared.state))
    {
    }

    std::vector<TreeProblem> run();
    bool undecided() const { return undecided_; }

private:
    void add(const std::string &kind, const std::string &path, const std::string &detail,
             std::size_t since)
    {
        problems_.push_back({kind, path, detail, since});
    }
    bool masked(const std::string &path, const std::string &field) const
    {
        return history_.masks.contains({path, field});
    }
    void compare_entry(const agent::TreeEntry &found, const agent::TreeEntry &legal);
    void compare_links();
    bool size_is_legal(const agent::TreeEntry &found, const agent::TreeEntry &legal) const;
    // The state that last changed whether the name is there, or a field of it.
    std::size_t name_since(const std::string &path) const;
    std::size_t field_since(const std::string &path, const std::string &field) const;

    ComparedTree compared_;
    const Tree &tree_;
    const History &history_;
    const Tree &legal_;
    std::vector<TreeProblem> problems_;
    bool undecided_ = false;
};

} // namespace fencepost::oracle
