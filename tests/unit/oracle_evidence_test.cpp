// SPDX-License-Identifier: GPL-2.0-or-later
// What a finding about a tree is called, and what is told of it: the operation, the object, and the
// differences to every state that would have been legal.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "replayer/oracle/tree_evidence.h"
#include "tests/unit/made_trees.h"

namespace fencepost::oracle {
namespace {

using run::kFsync;
using run::kStrict;
using run::kSync;

class Told {
public:
    // `texts`: of the operations that led to the states from the second on.
    Told(const Past &past, const std::vector<std::string> &texts)
        : legal_(past.history, operations(texts))
    {
    }

    Evidence evidence(const agent::TreeDump &tree, OperationSpan span, const Promise &promise) const
    {
        const TreeVerdict verdict = judge_tree(tree, legal_.history(), span, promise);
        EXPECT_FALSE(verdict.legal);
        return tree_evidence("semantic", verdict, tree, legal_, span,
                             {promise, "a promise", "a test"});
    }
    std::string title(const Entries &entries, OperationSpan span, const Promise &promise) const
    {
        return evidence(dump(entries), span, promise).title;
    }

private:
    static std::vector<TracedOperation> operations(const std::vector<std::string> &texts)
    {
        std::vector<TracedOperation> list;
        for (std::size_t i = 0; i < texts.size(); ++i)
            list.push_back({10 * i, 10 * i + 5, i + 1, texts[i]});
        return list;
    }

    LegalTrees legal_;
};

TEST(Titles, ARenameThatLosesOrKeepsBothNames)
{
    Past past;
    past.then(root({file("foo", 12, "A")})).then(root({file("bar", 12, "A")}));
    const Told told(past, {"creat foo", "rename foo bar"});
    EXPECT_EQ(told.title(root(), {1, 2}, kStrict), "rename foo bar: both names are gone");
    EXPECT_EQ(told.title(root({file("foo", 12, "A"), file("bar", 12, "A")}), {1, 2}, kStrict),
              "rename foo bar: both names are there");
    EXPECT_EQ(told.title(root({file("foo", 12, "A")}), {2, 2}, kStrict),
              "rename foo bar: bar is missing though it has returned");
}

TEST(Titles, ANameThatIsLost)
{
    Past past;
    past.then(root({file("a", 12, "A")})).then(root({file("a", 12, "A"), directory("d", 13)}));
    const Told told(past, {"creat a", "mkdir d"});
    EXPECT_EQ(told.title(root({directory("d", 13)}), {1, 2}, kStrict),
              "creat a: a is missing though it has returned");
    EXPECT_EQ(told.title(root({file("a", 12, "A")}), {2, 2}, kStrict),
              "mkdir d: d is missing though it has returned");
    EXPECT_EQ(told.title(root({file("a", 12, "A"), directory("x", 13)}), {1, 1}, kStrict),
              "after creat a: x should not be there");
}

TEST(Titles, FieldsHaveBothValues)
{
    Past past;
    TreeEntry linked = file("a", 12, "A");
    linked.link_count = 2;
    past.then(root({file("a", 12, "A")})).then(root({linked, [&] {
                                                         TreeEntry other = linked;
                                                         other.path = "b";
                                                         return other;
                                                     }()}));
    const Told told(past, {"creat a", "link a b"});
    TreeEntry b = linked;
    b.path = "b";
    TreeEntry a = linked;
    a.link_count = b.link_count = 1;
    EXPECT_EQ(told.title(root({a, b}), {2, 2}, kStrict),
              "link a b: link count is 1, not 2 though it has returned");
    TreeEntry secret = file("a", 12, "A");
    secret.mode = 0600;
    EXPECT_EQ(told.title(root({secret}), {1, 1}, kStrict),
              "creat a: mode is 600, not 644 though it has returned");
}

TEST(Titles, BytesWithTheirPlace)
{
    Past past;
    past.then(root({file("foo", 12, "A")})).then(root({file("foo", 12, "B")}));
    const Told told(past, {"creat foo", "write foo 0 4096"});
    agent::TreeDump torn = dump(root({file("foo", 12, "?")}));
    torn.blocks.push_back({'?', std::string(512, 'B') + std::string(agent::kTreeBlock - 512, 'A')});
    EXPECT_EQ(told.evidence(torn, {2, 2}, kSync).title,
              "write foo 0 4096: bytes 512-4095 are old though it has returned");
    EXPECT_EQ(told.evidence(torn, {1, 2}, kStrict).title,
              "write foo 0 4096: bytes 512-4095 are old");
    torn.blocks[0].bytes[7] = 'x';
    EXPECT_EQ(told.evidence(torn, {1, 2}, kSync).title,
              "write foo 0 4096: byte 7 is neither old nor new");
    torn.blocks[0].bytes[7] = '\0';
    EXPECT_EQ(told.evidence(torn, {1, 2}, kSync).title, "write foo 0 4096: byte 7 is zero");
}

TEST(Titles, WhatWasSynced)
{
    Past past;
    past.then(root({file("a", 12, "A")})).sync(Durable::all);
    const Told told(past, {"creat a", "sync"});
    EXPECT_EQ(told.title(root(), {2, 2}, kFsync), "creat a: a is missing though it was synced");
}

TEST(TreeEvidence, ComparesWithEveryLegalTree)
{
    Past past;
    past.then(root({file("foo", 12, "A")})).then(root({file("bar", 12, "A")}));
    const Told told(past, {"creat foo", "rename foo bar"});
    const Evidence evidence = told.evidence(dump(root()), {1, 2}, kStrict);
    EXPECT_EQ(evidence.summary, "missing: bar") << "what groups images has no operation";
    const nlohmann::json &against = evidence.details.json().at("against");
    ASSERT_EQ(against.size(), 2u);
    EXPECT_EQ(against[0].at("as"), "before: rename foo bar");
    EXPECT_EQ(against[0].at("differences")[0], "foo is missing (from: creat foo)");
    EXPECT_EQ(against[1].at("as"), "after: rename foo bar");
    EXPECT_EQ(against[1].at("differences")[0], "bar is missing (from: rename foo bar)");
    EXPECT_EQ(evidence.details.json().at("in_progress"), "rename foo bar");
    EXPECT_EQ(evidence.details.json().at("promise").at("source"), "a test");
}

TEST(TreeEvidence, OfManyLegalTreesAFewAreTold)
{
    Past past;
    std::vector<std::string> texts;
    Entries entries = root();
    for (int i = 0; i < 30; ++i) {
        entries.push_back(directory("d" + std::to_string(i), 20 + static_cast<unsigned>(i)));
        past.then(entries);
        texts.push_back("mkdir d" + std::to_string(i));
    }
    const Told told(past, texts);
    const Evidence evidence = told.evidence(dump(root({directory("d1", 21)})), {30, 30}, kFsync);
    const nlohmann::json &against = evidence.details.json().at("against");
    EXPECT_EQ(against.size(), 8u);
    EXPECT_EQ(against.front().at("as"), "before the first operation");
    EXPECT_EQ(against.back().at("as"), "after: mkdir d29");
}

TEST(TreeEvidence, TheTreeIsKept)
{
    TreeEntry unreadable = file("b", 13, "B");
    unreadable.failed_step = "read";
    unreadable.error_number = 5;
    const nlohmann::json tree = tree_json(dump(root({file("a", 12, "A"), unreadable})));
    ASSERT_EQ(tree.at("entries").size(), 3u);
    EXPECT_EQ(tree["entries"][1].at("path"), "a");
    EXPECT_EQ(tree["entries"][1].at("size"), 4096);
    EXPECT_EQ(tree["entries"][1].at("mode"), "644");
    EXPECT_EQ(tree["entries"][2].at("error").at("step"), "read");
}

} // namespace
} // namespace fencepost::oracle
