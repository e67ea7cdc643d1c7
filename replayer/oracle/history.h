// SPDX-License-Identifier: GPL-2.0-or-later
// The trees that a workload went through, in order, and what it made durable on its way.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "guest-images/agent/observation.h"

namespace fencepost::oracle {

using Block = std::string; // agent::kTreeBlock bytes

// One tree by path.
class Tree {
public:
    Tree() = default;
    explicit Tree(std::vector<agent::TreeEntry> entries);

    const std::map<std::string, agent::TreeEntry> &entries() const { return entries_; }
    // Names that a directory lists more than once; entries() has the first of each.
    const std::set<std::string> &listed_twice() const { return listed_twice_; }
    const agent::TreeEntry *find(const std::string &path) const;
    // The first of an inode's names; nullptr: it has none.
    const agent::TreeEntry *by_inode(std::uint64_t inode) const;
    // Everything about an inode but the bytes of a file, its names included if wanted; of a
    // directory also what is in it. Empty: it has no name.
    std::string describe_inode(std::uint64_t inode, bool with_names = true) const;

private:
    std::map<std::string, agent::TreeEntry> entries_;
    std::multimap<std::uint64_t, std::string> names_;
    std::set<std::string> listed_twice_;
};

struct TreeState {
    std::size_t tree = 0; // index into History::trees
    agent::Moment moment = agent::Moment::start;
    std::uint32_t operation = 0; // 0: none
    std::uint32_t call_ordinal = 0;
    std::uint32_t calls_meanwhile = 0; // that returned while this one was in progress
    std::int32_t call = -1;
    std::int64_t result = 0;
    agent::Durable durable = agent::Durable::nothing;
    std::uint64_t inode = 0;
    agent::TreeRange range = {};
    bool store =
        false; // to a map of the inode: no system call, and nothing that a file system knows of
    bool exchanged = false;              // two names
    agent::CallSignature signature = {}; // of the call
};

// A field of one name that no two runs agree on.
struct Mask {
    std::string path;
    std::string field;

    auto operator<=>(const Mask &) const = default;
};

// States of operations that were in progress at the same time. Of the trees in between nobody knows
// which of the operations they have; the one before the first and the last one are certain.
struct Overlap {
    std::size_t first = 0;
    std::size_t last = 0;

    bool operator==(const Overlap &) const = default;
};

struct History {
    std::vector<Tree> trees;
    std::vector<TreeState> states;         // the first: before the workload
    std::map<std::uint64_t, Block> blocks; // by hash
    std::set<std::uint64_t> mapped;        // inodes whose bytes change without a system call
    std::set<Mask> masks;
    std::vector<Overlap> overlaps; // in order, none shares a state with another

    const Tree &tree_at(std::size_t state) const { return trees[states[state].tree]; }
    // The bytes behind a hash; all zero for 0. nullptr: unknown.
    const Block *block(std::uint64_t hash) const;
    // All hashes that block() knows, as a JudgeRequest wants them.
    std::string known_blocks() const;
};

// Why a run has no legal trees to compare with.
class NoLegalTrees : public Error {
public:
    explicit NoLegalTrees(const std::string &why) : Error(ErrorKind::usage, why) {}
};

// A trace error if the observations contradict themselves, NoLegalTrees if some are missing.
History make_history(const std::vector<agent::Observation> &observations);

// The fields in which two histories of the same workload differ, put into the masks of the first. A
// text that says why they cannot be compared; empty: they could.
std::string mask_differences(History &history, const History &other);

// Names of the fields of a tree entry in which the two differ.
std::vector<std::string> differing_fields(const agent::TreeEntry &a, const agent::TreeEntry &b);

// Hash of the entry's block of that number; 0 behind the end.
std::uint64_t hash_at(const agent::TreeEntry &entry, std::size_t block);
std::size_t block_count(const agent::TreeEntry &entry);

} // namespace fencepost::oracle
