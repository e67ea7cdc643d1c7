// SPDX-License-Identifier: GPL-2.0-or-later
// Trees of operations that were in progress at the same time.
#include <gtest/gtest.h>

#include "replayer/oracle/overlaps.h"
#include "replayer/oracle/tree_evidence.h"
#include "tests/unit/made_trees.h"

namespace fencepost::oracle {
namespace {

using run::kFsync;
using run::kStrict;

std::string judged(const LegalTrees &legal, std::uint64_t crash_seq, Entries entries,
                   const Promise &promise = kStrict)
{
    return kind(
        judge_tree(dump(std::move(entries)), legal.history(), legal.span_at(crash_seq), promise));
}

const TreeEntry kA = directory("a", 11);
const TreeEntry kB = directory("b", 12);

TEST(Overlaps, OfTwoOperationsEitherMayBeFirst)
{
    Past past;
    past.then(root({kB})).then(root({kA, kB}));
    const LegalTrees legal(past.history, {{2, 5, 1, "mkdir b"}, {1, 10, 2, "mkdir a"}});
    TreeEntry locked_b = kB;
    locked_b.mode = 0;
    EXPECT_EQ(judged(legal, 2, root({kA})), "legal") << "it alone is in progress";
    for (const std::uint64_t seq : {3, 7}) { // one of them may have returned
        EXPECT_EQ(judged(legal, seq, root()), "legal");
        EXPECT_EQ(judged(legal, seq, root({kA})), "legal");
        EXPECT_EQ(judged(legal, seq, root({kB})), "legal");
        EXPECT_EQ(judged(legal, seq, root({kA, kB})), "legal");
        EXPECT_EQ(judged(legal, seq, root({kA, directory("c", 13)})), "unexpected c");
        EXPECT_EQ(judged(legal, seq, root({kA, locked_b})), "mode b");
    }
    EXPECT_EQ(judged(legal, 11, root({kA})), "missing b") << "both have returned";
    EXPECT_EQ(judged(legal, 11, root({kB})), "missing a");
}

TEST(Overlaps, BothAreNamed)
{
    Past past;
    past.then(root({kB})).then(root({kA, kB}));
    const LegalTrees legal(past.history, {{2, 5, 1, "mkdir b"}, {1, 10, 2, "mkdir a"}});
    const agent::TreeDump tree = dump(root({kA, directory("c", 13)}));
    const OperationSpan span = legal.span_at(3);
    const TreeVerdict verdict = judge_tree(tree, legal.history(), span, kStrict);
    EXPECT_EQ(title_of(verdict, tree, legal, span, kStrict),
              "mkdir b, mkdir a: c should not be there");
}

TEST(Overlaps, WhatBothChangeIsNotJudged)
{
    const TreeEntry other = file("g", 20, "C");
    const auto tree = [&](const char *bytes) { return root({file("f", 10, bytes), other}); };
    Past past;
    past.then(tree("AA")).then(tree("BA")).then(tree("BB"));
    const LegalTrees legal(past.history,
                           {{1, 2, 1, "creat"}, {4, 5, 2, "pwrite"}, {3, 6, 3, "pwrite"}});
    EXPECT_EQ(judged(legal, 5, tree("AB")), "legal") << "the second one alone";
    EXPECT_EQ(judged(legal, 5, root({file("f", 10, "AB")})), "missing g");
    EXPECT_EQ(judged(legal, 7, tree("AB")), "bytes f");
}

// A file has two names; one is removed while it gets a third.
TEST(Overlaps, NamesOfOneFileBelongTogether)
{
    const auto linked = [](const std::vector<std::string> &names) {
        Entries entries;
        for (const std::string &name : names) {
            entries.push_back(file(name, 10, "A"));
            entries.back().link_count = static_cast<std::uint32_t>(names.size());
        }
        return root(entries);
    };
    Past past;
    past.then(linked({"p", "q"})).then(linked({"p"})).then(linked({"p", "r"}));
    const LegalTrees legal(past.history,
                           {{1, 2, 1, "link"}, {4, 5, 2, "unlink q"}, {3, 6, 3, "link p r"}});
    EXPECT_EQ(judged(legal, 5, linked({"p", "q", "r"})), "legal");
    EXPECT_EQ(judged(legal, 7, linked({"p", "q", "r"})), "unexpected q");
}

// The other call had begun when the tree was looked at, and was done, though not in the recording.
TEST(Overlaps, OfTheObservedRunCountToo)
{
    Past past;
    past.then(root({kA, kB})).then(root({kA, kB}));
    past.history.states[1].call_ordinal = 4;
    past.history.states[2].call_ordinal = 6;
    const std::vector<TracedOperation> operations = {{1, 2, 1, "mkdir b"}, {4, 5, 2, "mkdir a"}};
    EXPECT_EQ(judged({past.history, operations}, 3, root({kB})), "missing a");
    past.history.states[2].calls_meanwhile = 1; // a call without a state
    EXPECT_EQ(judged({past.history, operations}, 3, root({kB})), "missing a");
    past.history.states[2].calls_meanwhile = 2;
    EXPECT_EQ(judged({past.history, operations}, 3, root({kB})), "legal");
    EXPECT_EQ(judged({past.history, operations}, 6, root({kB})), "missing a");
}

TEST(Overlaps, ASyncCoversOnlyWhatHadReturned)
{
    Past past;
    past.then(root({file("f", 10, "A")})).then(root({file("f", 10, "B")}));
    past.sync(Durable::all);
    const auto old = [&](std::uint64_t sync_began) {
        const std::vector<TracedOperation> operations = {
            {1, 2, 1, "creat"}, {3, 5, 2, "write"}, {sync_began, 7, 3, "sync"}};
        return judged({past.history, operations}, 8, root({file("f", 10, "A")}), kFsync);
    };
    EXPECT_EQ(old(6), "bytes f");
    EXPECT_EQ(old(4), "legal");
}

TEST(Overlaps, LeaveOtherOperationsAtomic)
{
    const TreeEntry old_name = file("x", 10, "A");
    const TreeEntry new_name = file("y", 10, "A");
    Past past;
    past.then(root({old_name})).then(root({new_name}));
    past.then(root({new_name, kB})).then(root({new_name, kA, kB}));
    const LegalTrees legal(past.history, {{1, 2, 1, "creat x"},
                                          {3, 4, 2, "rename x y"},
                                          {6, 7, 3, "mkdir b"},
                                          {5, 8, 4, "mkdir a"}});
    EXPECT_EQ(legal.history().overlaps, (std::vector<Overlap>{{3, 4}}));
    EXPECT_EQ(judged(legal, 9, root({old_name}), kFsync), "legal");
    EXPECT_EQ(judged(legal, 9, root({new_name, kA}), kFsync), "legal");
    EXPECT_EQ(judged(legal, 9, root({kA}), kFsync), "missing y");
    EXPECT_EQ(judged(legal, 9, root({old_name, kA}), kFsync), "unexpected a");
}

TEST(Overlaps, ThatShareAnOperationAreOne)
{
    Past past;
    for (int i = 0; i < 5; ++i)
        past.then(root());
    EXPECT_EQ(
        find_overlaps(past.history,
                      {{1, 3, 1, ""}, {2, 5, 2, ""}, {4, 6, 3, ""}, {6, 8, 4, ""}, {9, 10, 5, ""}}),
        (std::vector<Overlap>{{1, 3}}));
}

} // namespace
} // namespace fencepost::oracle
