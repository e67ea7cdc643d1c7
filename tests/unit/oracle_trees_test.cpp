// SPDX-License-Identifier: GPL-2.0-or-later
// Which fields of a tree are compared, which histories are good for it, and which states
// belong to a crash.
#include <gtest/gtest.h>

#include "replayer/oracle/legal_trees.h"
#include "tests/unit/made_trees.h"

namespace fencepost::oracle {
namespace {

TEST(Trees, EveryFieldCounts)
{
    TreeEntry whole = file("a", 12, "A");
    whole.attributes = {{"user.x", "1"}};
    Past past;
    past.then(root({whole, directory("d", 13)})).sync(Durable::all);
    const auto with = [&](auto change) {
        TreeEntry changed = whole;
        change(changed);
        return kind(past.at_end(root({changed, directory("d", 13)})));
    };
    EXPECT_EQ(with([](TreeEntry &) {}), "legal");
    EXPECT_EQ(with([](TreeEntry &e) { e.mode = 0600; }), "mode a");
    EXPECT_EQ(with([](TreeEntry &e) { e.user = 1; }), "user a");
    EXPECT_EQ(with([](TreeEntry &e) { e.group = 1; }), "group a");
    EXPECT_EQ(with([](TreeEntry &e) { e.link_count = 2; }), "link_count a");
    EXPECT_EQ(with([](TreeEntry &e) { e.size = 1; }), "size a");
    EXPECT_EQ(with([](TreeEntry &e) { e.attributes[0].value = "2"; }), "attributes a");
    EXPECT_EQ(with([](TreeEntry &e) { e.attributes.clear(); }), "attributes a");
    EXPECT_EQ(with([](TreeEntry &e) { e.type = FileType::symlink; }), "type a");
    EXPECT_EQ(with([](TreeEntry &e) { e.failed_step = "read"; }), "cannot read a");
    EXPECT_EQ(with([](TreeEntry &e) { e.inode = 99; }), "legal") << "numbers are the file system's";
    EXPECT_EQ(with([](TreeEntry &e) { e.inode = 13; }), "linked d") << "but not shared with others";
}

TEST(Trees, ANameWithoutItsInodeIsNeverLegal)
{
    Past past;
    past.then(root({file("a", 12, "A")}));
    TreeEntry dangling;
    dangling.path = "a";
    dangling.failed_step = "stat";
    dangling.error_number = 117;
    EXPECT_EQ(kind(past.at_end(root({dangling}))), "cannot stat a");
}

TEST(Trees, AnErrorThatTheWorkloadHadTooIsNoCrashs)
{
    TreeEntry odd = file("a", 12, "A");
    odd.failed_step = "xattr";
    odd.error_number = 34;
    Past past;
    past.then(root({odd})).sync(Durable::all);
    EXPECT_EQ(kind(past.at_end(root({odd}))), "legal");
    TreeEntry other = odd;
    other.error_number = 5;
    EXPECT_EQ(kind(past.at_end(root({other}))), "cannot xattr a");
    other = odd;
    other.failed_step = "read";
    EXPECT_EQ(kind(past.at_end(root({other}))), "cannot read a");
    other = odd;
    other.mode = 0600;
    EXPECT_EQ(kind(past.at_end(root({other}))), "mode a") << "the rest still counts";
}

TEST(Trees, ANameThatIsListedTwiceIsNeverLegal)
{
    Past past;
    past.then(root({file("a", 12, "A")}));
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "A"), file("a", 12, "A")}))), "twice a");
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "A"), file("a", 13, "A")}))), "twice a");
}

TEST(Trees, MaskedFieldsAndMappedFilesAreNotCompared)
{
    Past past;
    past.then(root({file("a", 12, "A")})).sync(Durable::all);
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "Q")}))), "bytes a");
    past.history.masks.insert({"a", "contents"});
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "Q")}))), "legal");
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "A"), directory("x", 13)}))), "unexpected x");
    EXPECT_EQ(kind(past.at_end(root())), "missing a");
    past.history.masks = {{"x", "name"}, {"a", "name"}};
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "A"), directory("x", 13)}))), "legal");
    EXPECT_EQ(kind(past.at_end(root())), "legal");
    past.history.masks.clear();
    past.history.mapped.insert(12);
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "Q")}))), "legal");
    EXPECT_EQ(kind(past.at_end(root({file("a", 12, "QQ")}))), "size a");
}

TEST(Trees, WhatDiffersBetweenTwoRunsIsMaskedOrRefused)
{
    Past one;
    one.then(root({file("a", 12, "A")}));
    Past two;
    two.then(root({file("a", 14, "B")}));
    EXPECT_EQ(mask_differences(one.history, two.history), "");
    EXPECT_EQ(one.history.masks, (std::set<Mask>{{"a", "contents"}}));
    Past three;
    three.then(root({file("tmp.x1", 12, "A")}));
    EXPECT_NE(mask_differences(one.history, three.history), "");
    three.sync(Durable::all);
    EXPECT_NE(mask_differences(one.history, three.history), "");
}

TEST(Histories, AreWholeOrThereIsNone)
{
    std::vector<agent::Observation> seen(3);
    seen[0].same_tree = false;
    seen[0].tree.entries = root();
    seen[1].moment = agent::Moment::end;
    seen[1].operation = 1;
    seen[2].moment = agent::Moment::end;
    const auto why = [&] {
        try {
            make_history(seen);
        } catch (const NoLegalTrees &none) {
            return std::string(none.what());
        }
        return std::string("a history");
    };
    EXPECT_EQ(why(), "a history");
    seen[0].tree.truncated = true;
    EXPECT_EQ(why(), "the workload's tree is too large to be compared");
    seen[0].tree.truncated = false;
    seen.pop_back();
    EXPECT_EQ(why(), "the workload was not observed up to its end");
    seen.emplace_back().moment = agent::Moment::overflow;
    EXPECT_EQ(why(), "the workload changes too much to be observed: its trees and their bytes take "
                     "more than 24 MiB");
}

TEST(Spans, ComeFromTheOperationsOfTheTrace)
{
    Past past;
    past.then(root({file("a", 12, "A")})).then(root());
    const LegalTrees legal(past.history, {{10, 20, 1, "open a"}, {30, 40, 2, "unlink a"}});
    const auto span = [&](std::uint64_t seq) {
        const OperationSpan found = legal.span_at(seq);
        return std::pair(found.returned, found.begun);
    };
    EXPECT_EQ(span(10), std::pair(0ul, 0ul)) << "its begin did not happen";
    EXPECT_EQ(span(11), std::pair(0ul, 1ul));
    EXPECT_EQ(span(20), std::pair(0ul, 1ul)) << "its end did not happen";
    EXPECT_EQ(span(21), std::pair(1ul, 1ul));
    EXPECT_EQ(span(35), std::pair(1ul, 2ul));
    EXPECT_EQ(span(99), std::pair(2ul, 2ul));
    EXPECT_EQ(legal.operation_of(0), "");
    EXPECT_EQ(legal.operation_of(2), "unlink a");
}

} // namespace
} // namespace fencepost::oracle
