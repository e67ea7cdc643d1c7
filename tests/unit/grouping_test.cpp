// SPDX-License-Identifier: GPL-2.0-or-later
// Which failures are one finding, and its id.
#include <algorithm>
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "tests/unit/grouping_fixture.h"

namespace fencepost::test {
namespace {

using findings::Decides;
using findings::kAbsent;
using findings::kPresent;
using oracle::Verdict;

TEST_F(GroupingTest, AFlagWithoutPartsOfItsRecordIsOneFinding)
{
    const Finding first = place(tested(4, 9));
    EXPECT_EQ(first.decides, Decides::order);
    EXPECT_EQ(site_of(first, kAbsent), 4u);
    EXPECT_EQ(site_of(first, kPresent), 9u);
    EXPECT_EQ(site_of(place(tested(4, 9)), kAbsent), 4u);
    const Finding other_part = place(tested(5, 9));
    EXPECT_EQ(other_part.id, first.id);
    EXPECT_EQ(other_part.decides, Decides::order);
    EXPECT_EQ(site_of(other_part, kAbsent), 0u) << "it is not the same for all";
    EXPECT_EQ(other_part.absent_sites, (std::vector<trace::SiteId>{4, 5}));
    EXPECT_EQ(site_of(other_part, kPresent), 9u);
    const Finding guaranteed = place(tested(5, 0));
    EXPECT_EQ(guaranteed.id, first.id) << "the flag is guaranteed by now";
    EXPECT_EQ(site_of(guaranteed, kPresent), 9u);
    EXPECT_EQ(guaranteed.count, 4u);

    EXPECT_NE(place(tested(5, 0, guess({5, 9}, {}))).id, first.id) << "the flag is not there";
    EXPECT_NE(place(tested(5, 8)).id, first.id) << "another flag";
    EXPECT_NE(place(tested(9, 4)).id, first.id) << "absent is not present";
    EXPECT_EQ(place(tested(4, 9), "other").id, first.id) << "whatever it breaks";
}

TEST_F(GroupingTest, ALogThatIsMissingWithSeveralStoresIsOneFinding)
{
    const Finding first = place(tested(4, 9));
    const Finding other_store = place(tested(4, 8));
    EXPECT_EQ(other_store.id, first.id);
    EXPECT_EQ(other_store.decides, Decides::order);
    EXPECT_EQ(site_of(other_store, kAbsent), 4u);
    EXPECT_EQ(site_of(other_store, kPresent), 0u);
    EXPECT_NE(place(tested(5, 9)).id, first.id) << "9 does not decide all of them";
    EXPECT_NE(place(tested(5, 0)).id, first.id);
    EXPECT_EQ(place(tested(4, 0)).decides, Decides::order) << "8 and 9 are guaranteed by now";
    const Finding alone = place(tested(4, 0, guess({4, 8, 9}, {})));
    EXPECT_EQ(alone.id, first.id);
    EXPECT_EQ(alone.decides, Decides::absent);
    EXPECT_EQ(place(tested(4, 7)).decides, Decides::absent)
        << "it is needed without the others too";
}

TEST_F(GroupingTest, WhatAnImageRefutesDecidesNoMore)
{
    const Finding first = place(tested(4, 9));
    const Finding refuted = place(tested(4, 0, guess({4, 9}, {})));
    EXPECT_EQ(refuted.id, first.id);
    EXPECT_EQ(refuted.decides, Decides::absent) << "it fails though 9 is not there";
    const Finding second = place(tested(1, 2), "other");
    EXPECT_EQ(place(tested(0, 2), "other").id, second.id);
    EXPECT_EQ(place(tested(0, 2), "other").decides, Decides::present) << "though 1 is there";
}

TEST_F(GroupingTest, FindingsDoNotGrowTogether)
{
    const Finding first = place(tested(4, 9));
    const Finding second = place(tested(5, 8));
    EXPECT_EQ(place(tested(4, 8)).id, first.id);
    EXPECT_EQ(place(tested(5, 8)).id, second.id);
    EXPECT_EQ(place(tested(5, 9)).id, second.id) << "9 decides the first one no more";
}

TEST_F(GroupingTest, WhatDecidesMayBeGuaranteedLater)
{
    const Finding first = place(tested(0, 9));
    EXPECT_EQ(first.decides, Decides::present);
    EXPECT_NE(place(tested(0, 0, guess({9}, {}))).id, first.id)
        << "it fails though the store of 9 is not there";
    EXPECT_EQ(place(tested(0, 0, guess({3}, {4}))).id, first.id);
}

TEST_F(GroupingTest, NothingInFlightDecides)
{
    const Finding first = place(tested(0, 0));
    EXPECT_EQ(first.decides, Decides::neither);
    EXPECT_EQ(place(tested(0, 0)).id, first.id);
    EXPECT_NE(place(tested(3, 0)).id, first.id);
    EXPECT_EQ(like(guess({5}, {4})), "") << "every image is asked about";
}

TEST_F(GroupingTest, WhatIsLikeOthersNeedsNoTests)
{
    EXPECT_EQ(like(guess({4}, {9})), "");
    const Finding order = place(tested(4, 9));
    EXPECT_EQ(like(guess({4, 5}, {8, 9})), order.id);
    EXPECT_EQ(like(guess({4}, {8})), "") << "9 may be guaranteed, or not executed";
    EXPECT_EQ(like(guess({4, 9}, {})), "") << "9 is not there";
    EXPECT_EQ(like(guess({5}, {4, 9})), "") << "4 is there";
    EXPECT_EQ(like(guess({4}, {9}), "other"), "");

    Explanation explained = guess({4}, {9});
    explained.like = order.id;
    place(tested(1, 0));
    EXPECT_EQ(place(explained).id, order.id);
    EXPECT_EQ(place(explained).decides, Decides::order) << "a guess takes nothing away";
    // What it was like may have changed by the time it is placed.
    place(tested(5, 9));
    EXPECT_EQ(place(explained).id, order.id);
    EXPECT_EQ(like(guess({5}, {9})), order.id) << "as without another part of the record";
    EXPECT_EQ(like(guess({7}, {9})), "") << "which is not known to be one";
    EXPECT_EQ(like(guess({}, {9})), "") << "it lacks nothing";

    const Finding absent = place(tested(7, 0), "absent");
    EXPECT_EQ(like(guess({7}, {}), "absent"), absent.id);
    const Finding present = place(tested(0, 6), "present");
    EXPECT_EQ(like(guess({}, {6}), "present"), present.id);
}

TEST_F(GroupingTest, WhatCouldNotBeFoundOutMakesOneFinding)
{
    const Finding first = place(guess({1}, {2}));
    EXPECT_EQ(first.decides, Decides::unknown);
    for (unsigned i = 0; i < 9; ++i)
        EXPECT_EQ(place(guess({3}, {})).id, first.id);
    EXPECT_EQ(like(guess({3}, {})), "") << "nothing was tried";
    const Grouping::Placed explained = grouping_.place(evidence(), tested(4, 9));
    EXPECT_EQ(explained.finding.id, first.id);
    EXPECT_TRUE(explained.shows);
    EXPECT_EQ(explained.finding.decides, Decides::order);
    EXPECT_EQ(explained.finding.count, 11u);
    EXPECT_FALSE(grouping_.place(evidence(), tested(4, 9)).shows);
    EXPECT_NE(place(tested(5, 8)).id, first.id);
    EXPECT_EQ(place(guess({8}, {})).id, first.id) << "no reason for one more";
}

TEST_F(GroupingTest, NothingIsTriedInVainAgainAndAgain)
{
    Explanation in_vain = guess({1}, {2});
    in_vain.probing_failed = true;
    const Finding first = place(in_vain);
    place(in_vain);
    EXPECT_EQ(like(guess({1}, {2})), "") << "the next may be easier";
    place(in_vain);
    EXPECT_EQ(like(guess({1}, {2})), first.id);
    EXPECT_EQ(like(guess({1}, {2}), "other"), "");
    // The next session tries again.
    EXPECT_EQ(Grouping({first}).explained_by(evidence(), guess({1}, {2})), "");
}

TEST_F(GroupingTest, AResumedTestGoesOnWithItsFindings)
{
    const Finding known = place(tested(4, 9));
    Grouping resumed({known});
    EXPECT_EQ(resumed.explained_by(evidence(), guess({4}, {9})), known.id);
    EXPECT_FALSE(resumed.place(evidence(), tested(4, 9)).shows);
    EXPECT_TRUE(resumed.place(evidence(), tested(5, 8)).shows);
}

// A journal that is told to be durable before what it records, as everybody's calls of it show.
TEST_F(GroupingTest, AFunctionOutOfOrderIsOneFindingWhateverItBreaks)
{
    const Finding first = place(in_code({"commit", "make"}, {"commit", "make"}), "no block");
    EXPECT_EQ(place(in_code({"commit", "rename"}, {"commit", "rename"}), "no inode").id, first.id);
    EXPECT_EQ(place(in_code({}, {"commit", "unlink"}), "links").id, first.id);
    EXPECT_EQ(place(in_code({"commit", "write"}, {}), "zeros").id, first.id);
    const oracle::Evidence no_mount = {"mount", Verdict::recovery_failed, "mount fails", {}};
    const auto mounted = grouping_.place(no_mount, in_code({"commit", "make"}, {"commit", "make"}));
    EXPECT_EQ(mounted.finding.id, first.id);
    EXPECT_FALSE(mounted.shows);
    EXPECT_EQ(mounted.finding.summary, "no block");
    const oracle::Evidence oops = {"mount", Verdict::guest_crash, "oops", {}};
    EXPECT_NE(grouping_.place(oops, in_code({"commit", "make"}, {"commit", "make"})).finding.id,
              first.id)
        << "recovery must not crash, whatever it finds";
}

TEST_F(GroupingTest, WhoeverForgetsSomethingBeforeACommitHasAFinding)
{
    const Finding inode = place(in_code({"new_inode", "make"}, {"commit", "make"}), "no inode");
    const Finding data = place(in_code({"write"}, {"commit", "write"}), "zeros");
    EXPECT_NE(data.id, inode.id) << "that the commit persists is no mistake";
    EXPECT_EQ(place(in_code({"new_inode", "make"}, {"commit", "make"}), "zeros").id, inode.id);
    EXPECT_EQ(place(in_code({"write"}, {"extend", "write"}), "size").id, data.id);
    const Finding rename = place(in_code({}, {"commit", "rename"}), "links");
    EXPECT_NE(rename.id, inode.id);
    EXPECT_NE(place(in_code({}, {"commit", "unlink"}), "orphan").id, rename.id)
        << "two operations that commit twice";
    EXPECT_EQ(place(in_code({}, {"commit", "rename"}), "orphan").id, rename.id);
}

// Once the flag is guaranteed, only what it stands for is in flight.
TEST_F(GroupingTest, WhoCallsBothForTheFlagAndForItsRecordHasTheirOrderWrong)
{
    const Finding first = place(in_code({}, {"set_flag", "commit", "rename"}), "links");
    EXPECT_EQ(place(in_code({"write_records", "commit"}, {}), "links").id, first.id);
    EXPECT_NE(place(in_code({"write_records", "extend"}, {}), "links").id, first.id)
        << "somebody else's records";
    EXPECT_NE(place(in_code({"write_records", "commit"}, {}), "orphan").id, first.id)
        << "it breaks something else";
    const Finding torn = place(in_code({"commit", "rename"}, {"write_value", "commit"}), "torn");
    EXPECT_EQ(torn.id, first.id) << "their order matters as the flag is trusted";
    EXPECT_EQ(torn.present_code, (std::vector<std::string>{"set_flag"}));
}

TEST_F(GroupingTest, AFunctionIsInChargeOfWhatItCalls)
{
    const Finding first =
        place(in_code({"new_node", "insert", "main"}, {"insert", "main"}), "keys");
    EXPECT_EQ(place(in_code({"fill", "with_key", "insert"}, {"insert", "main"}), "value").id,
              first.id);
    const Finding more =
        place(in_code({"fill", "with_key", "insert"}, {"new_node", "insert"}), "odd");
    EXPECT_EQ(more.id, first.id) << "the root is guaranteed by now";
}

TEST_F(GroupingTest, WhatIsGuaranteedBelongsToItsOperation)
{
    const Finding first = place(in_code({}, {"commit", "rename"}), "links");
    Explanation nothing = in_code({}, {});
    nothing.last = {"store", {"rename", "vfs_rename"}};
    EXPECT_EQ(place(nothing, "orphan").id, first.id);
    nothing.last = {"store", {"unlink"}};
    const Finding other = place(nothing, "size");
    EXPECT_NE(other.id, first.id);
    EXPECT_EQ(place(nothing, "bytes").id, other.id);
    nothing.last = {"store", {"chmod"}};
    EXPECT_NE(place(nothing, "mode").id, other.id);
}

TEST_F(GroupingTest, WhatWasNotTestedIsNoNewFindingIfItIsLikeAnother)
{
    const Finding first = place(tested(4, 9));
    EXPECT_EQ(place(guess({4}, {9}), "other").id, first.id);
    EXPECT_NE(place(guess({5}, {9}), "another").id, first.id);
}

TEST_F(GroupingTest, AnIdIsNeverThatOfAnotherFinding)
{
    const Finding first = place(in_code({"a"}, {"b"}));
    EXPECT_EQ(place(in_code({"c"}, {"b"})).id, first.id);
    Explanation unlike = in_code({"a"}, {"d"});
    unlike.missing = {{first.present_sites[0], {"b"}}, {first.present_sites[0] + 2, {"b"}}};
    const Finding second = place(unlike, "d");
    EXPECT_NE(second.id, first.id);
    Grouping alone({});
    EXPECT_EQ(alone.place(evidence(), unlike).finding.id, first.id);
}

// Else it would be counted where it is not looked for.
TEST_F(GroupingTest, WhatWorksForSomebodyElseIsTested)
{
    const Finding first = place(tested(0, 9));
    EXPECT_EQ(like(guess({}, {9})), first.id);
    Explanation for_another = guess({}, {9});
    for_another.present[0].code.callers = {"another operation"};
    EXPECT_EQ(like(for_another), "");
    for_another.missing = for_another.present;
    place(tested(7, 9), "order");
    EXPECT_EQ(like(for_another, "order"), "") << "7 is there";
}

// Three bugs in thousands of images, whose words and sites differ, in any order.
TEST(GroupingOfARun, ThreeCausesAreThreeFindings)
{
    std::vector<std::pair<oracle::Evidence, Explanation>> failures;
    for (unsigned i = 0; i < 5000; ++i) {
        const std::string operation = "operation" + std::to_string(i % 7);
        const std::string record = "record" + std::to_string(i % 2);
        failures.push_back({{i % 4 == 0 ? "mount" : "fsck",
                             i % 5 == 0 ? Verdict::recovery_failed : Verdict::inconsistent,
                             "wrong " + std::to_string(i % 11),
                             {}},
                            i % 3 == 0   ? in_code({record, "log", operation}, {"log", operation})
                            : i % 3 == 1 ? in_code({"inode", operation}, {"commit", operation})
                                         : in_code({}, {"commit", "rename", operation})});
    }
    std::set<std::string> ids;
    std::mt19937 random(1);
    for (unsigned run = 0; run < 5; ++run) {
        Grouping grouping({});
        std::map<std::string, std::uint64_t> counts;
        for (const auto &[evidence, explanation] : failures) {
            const Finding finding = grouping.place(evidence, explanation).finding;
            counts[finding.id] = finding.count;
        }
        EXPECT_EQ(counts.size(), 3u);
        for (const auto &[id, count] : counts) {
            EXPECT_NEAR(static_cast<double>(count), 5000.0 / 3, 1);
            ids.insert(id);
        }
        std::shuffle(failures.begin(), failures.end(), random);
    }
    EXPECT_EQ(ids.size(), 3u) << "ids do not depend on what fails first";
}

} // namespace
} // namespace fencepost::test
