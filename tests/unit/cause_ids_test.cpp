// SPDX-License-Identifier: GPL-2.0-or-later
// Who is to blame for a finding, and what it is called whichever of its images comes first.
#include <algorithm>

#include <gtest/gtest.h>

#include "tests/unit/grouping_fixture.h"

namespace fencepost::test {
namespace {

using findings::Decides;

// It may be that function that forgets the flush, or those that call it.
TEST_F(GroupingTest, AFindingNamesAllForWhomItsCodeStores)
{
    const auto forgotten = [](const std::string &by) {
        Explanation explanation = in_code({"set_value", by}, {});
        explanation.decided->absent->site = 3;
        return explanation;
    };
    const Finding first = place(forgotten("put"));
    EXPECT_EQ(first.callers, (std::vector<std::string>{"put"}));
    const auto lacks = [](const std::string &by) {
        Explanation image = guess({3}, {});
        image.missing[0].code = {"set_value", {by, "main"}};
        return image;
    };
    EXPECT_EQ(like(lacks("put")), first.id);
    EXPECT_EQ(like(lacks("update")), "") << "tests tell whether it matters";
    const Finding second = place(forgotten("update"));
    EXPECT_EQ(second.id, first.id);
    EXPECT_EQ(second.callers, (std::vector<std::string>{"put", "update"}));
    EXPECT_EQ(like(lacks("update")), first.id);
    EXPECT_EQ(place(forgotten("put")).callers.size(), 2u);

    grouping_ = Grouping({});
    EXPECT_EQ(place(forgotten("update")).id, first.id) << "the other one is fixed";
}

TEST_F(GroupingTest, WhoHasTheFlagInItsChargeIsTheCaller)
{
    const Finding first = place(in_code({"put", "append", "main"}, {"append", "main"}));
    EXPECT_EQ(first.callers, (std::vector<std::string>{"append"}));
    const Finding both = place(in_code({"put", "insert", "main"}, {"insert", "main"}));
    EXPECT_EQ(both.id, first.id);
    EXPECT_EQ(both.callers, (std::vector<std::string>{"append", "insert"}));
    grouping_ = Grouping({});
    const Finding left = place(in_code({"put", "insert", "main"}, {"insert", "main"}));
    EXPECT_TRUE(left.id == both.id ||
                std::count(both.other_ids.begin(), both.other_ids.end(), left.id) == 1)
        << "a baseline knows it";

    const Finding own = place(in_code({"commit", "make"}, {"commit", "make"}), "own");
    place(in_code({"commit", "rename"}, {"commit", "rename"}), "own");
    EXPECT_TRUE(own.callers.empty()) << "nobody else is to blame";
    EXPECT_TRUE(place(in_code({"commit", "write"}, {}), "own").callers.empty());
}

// An id is that of one caller's mistake, whichever others are fixed.
TEST_F(GroupingTest, AnIdTellsWhoLetsSomethingPersist)
{
    const Explanation rename = in_code({}, {"commit", "rename"});
    const Explanation unlink = in_code({}, {"commit", "unlink"});
    const Finding first = place(rename, "links");
    const std::string id = place(unlink, "orphan").id;
    EXPECT_NE(id, first.id);
    grouping_ = Grouping({});
    EXPECT_EQ(place(unlink, "orphan").id, id);
}

// Whatever the words of the first image are.
TEST_F(GroupingTest, WhereNothingDecidesTheIdIsOfTheCode)
{
    const Finding first = place(in_code({}, {}), "links");
    EXPECT_EQ(place(in_code({}, {}), "orphan").id, first.id);
    grouping_ = Grouping({});
    const Finding again = place(in_code({}, {}), "orphan");
    EXPECT_EQ(again.id, first.id);
    Explanation elsewhere = in_code({}, {});
    elsewhere.last = {"store", {"chmod"}};
    grouping_ = Grouping({});
    const Finding other = place(elsewhere, "links");
    EXPECT_EQ(std::count(first.other_ids.begin(), first.other_ids.end(), again.id), 0);
    ASSERT_EQ(other.other_ids.size(), 1u);
    EXPECT_EQ(first.other_ids.front(), other.other_ids.front()) << "the same words";
}

TEST_F(GroupingTest, AMissingFenceIsOneFindingWhateverItLeavesInFlight)
{
    const auto unfenced = [](Explanation explanation) {
        explanation.decided->absent_flushed = true;
        return explanation;
    };
    const Finding first = place(unfenced(in_code({"new_inode", "make"}, {"commit", "transact"})));
    EXPECT_TRUE(first.unfenced);
    EXPECT_EQ(first.callers, (std::vector<std::string>{"transact"}));
    const Finding other =
        place(unfenced(in_code({"write_log", "transact"}, {"commit", "transact"})), "other");
    EXPECT_EQ(other.id, first.id);
    EXPECT_EQ(other.decides, Decides::order);
    EXPECT_EQ(other.absent_code.size(), 2u);
    EXPECT_EQ(other.callers, first.callers);
    EXPECT_NE(place(in_code({"write", "x"}, {"commit", "transact"}), "wrong").id, first.id)
        << "it was not flushed, whatever the words";
    EXPECT_NE(place(unfenced(in_code({"write", "x"}, {"commit", "extend"})), "elsewhere").id,
              first.id)
        << "another fence";
    EXPECT_TRUE(place(unfenced(in_code({"new_inode", "make"}, {}))).unfenced);
    EXPECT_FALSE(place(in_code({"new_inode", "make"}, {"commit", "transact"})).unfenced)
        << "not all of them had been flushed";
    // Whichever comes first.
    grouping_ = Grouping({});
    EXPECT_EQ(place(unfenced(in_code({"write_log", "transact"}, {"commit", "transact"}))).id,
              first.id);
}

} // namespace
} // namespace fencepost::test
