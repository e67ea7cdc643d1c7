// SPDX-License-Identifier: GPL-2.0-or-later
// Trees that contradict themselves, whatever the workload was.
#include <gtest/gtest.h>

#include "tests/unit/made_hearing.h"
#include "tests/unit/made_trees.h"

namespace fencepost::oracle {
namespace {

agent::JudgeReply reply_with(Entries entries)
{
    agent::JudgeReply reply;
    reply.tree = dump(std::move(entries));
    return reply;
}

std::string judged(Entries entries)
{
    return said(hear(*make_oracle("intact"), reply_with(std::move(entries))));
}

TEST(Intact, WhatAWorkloadMayDoIsFine)
{
    TreeEntry one = file("a", 12, "A");
    TreeEntry two = file("d/b", 12, "A");
    one.link_count = two.link_count = 2;
    TreeEntry crowded = directory("d", 13);
    crowded.link_count = 7;
    EXPECT_EQ(judged(root({one, crowded, two, file("c", 14, "")})), "")
        << "links of directories are the file system's";
}

TEST(Intact, LinkCountsAreNames)
{
    TreeEntry lost = file("a", 12, "A");
    lost.link_count = 2;
    EXPECT_EQ(judged(root({lost})), "inconsistent: link count: a\n");
    EXPECT_EQ(judged(root({file("a", 12, "A"), file("b", 12, "A")})),
              "inconsistent: link count: a\n");
    EXPECT_EQ(judged(root({directory("d", 12), directory("e", 12)})),
              "inconsistent: link count: d\n")
        << "a directory has one name";
    EXPECT_EQ(judged(root({file("a", 12, "A"), directory("d", 12)})), "inconsistent: type: d\n");
}

TEST(Intact, NamesCanBeReadAndAreListedOnce)
{
    TreeEntry unreadable = file("a", 12, "A");
    unreadable.failed_step = "read";
    unreadable.error_number = 5;
    EXPECT_EQ(judged(root({unreadable})), "inconsistent: cannot read: a\n");
    TreeEntry dangling;
    dangling.path = "b";
    dangling.failed_step = "stat";
    EXPECT_EQ(judged(root({dangling})), "inconsistent: cannot stat: b\n");
    TreeEntry twice = file("a", 12, "A");
    twice.link_count = 2;
    EXPECT_EQ(judged(root({twice, twice})), "inconsistent: twice: a\n");
}

TEST(Intact, ProblemsOfHealthyImagesAreMaskedOneByOne)
{
    const auto oracle = make_oracle("intact");
    TreeEntry odd = file("odd", 12, "A");
    odd.link_count = 9;
    TreeEntry wrong = file("wrong", 13, "B");
    wrong.link_count = 0;
    const Judgement healthy = hear(*oracle, reply_with(root({odd})), false);
    oracle->mask(healthy.evidence);
    const Judgement crashed = hear(*oracle, reply_with(root({odd, wrong})));
    EXPECT_EQ(said(crashed), "inconsistent: link count: wrong\n");
    EXPECT_EQ(crashed.masked, 1u);
    EXPECT_EQ(crashed.evidence[0].title, "link count: wrong: 1 names, and the inode says 0");
}

// A dump that ends somewhere says nothing about the rest: names of an inode may be there.
TEST(Intact, ATreeThatIsTooLargeIsSaidToBe)
{
    const char *const said_so =
        "infra_error: the tree has too many names, or too deep ones, to be looked at whole\n";
    Entries many;
    for (std::uint64_t i = 0; i < agent::TreeLimits().entries; ++i)
        many.push_back(file(std::to_string(i), 100 + i, ""));
    many.back().link_count = 2;
    EXPECT_EQ(judged(root(std::move(many))), said_so);
    std::string deep = "d";
    for (int i = 0; i < 63; ++i)
        deep += "/d";
    EXPECT_EQ(judged(root({directory(deep, 12)})), said_so);
    EXPECT_EQ(judged({}), said_so);
}

// Blocks are for others; who needs them says so, in whatever order they are asked.
TEST(Intact, AsksForNoBlocks)
{
    agent::JudgeRequest alone;
    make_oracle("intact")->ask(alone);
    EXPECT_TRUE(alone.dump);
    EXPECT_EQ(alone.limits.blocks, 0u);
    agent::JudgeRequest second;
    second.dump = true;
    second.limits.blocks = 7;
    make_oracle("intact")->ask(second);
    EXPECT_EQ(second.limits.blocks, 7u);
}

} // namespace
} // namespace fencepost::oracle
