// SPDX-License-Identifier: GPL-2.0-or-later
// The nearest name to a mistyped one.
#include "base/nearest.h"

#include <vector>

#include <gtest/gtest.h>

namespace fencepost {
namespace {

TEST(Nearest, DistanceIsTheFewestChanges)
{
    EXPECT_EQ(edit_distance("", ""), 0u);
    EXPECT_EQ(edit_distance("abc", ""), 3u);
    EXPECT_EQ(edit_distance("states", "stats"), 1u);
    EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
    EXPECT_EQ(edit_distance("record", "recrod"), 2u);
    EXPECT_EQ(edit_distance("intention", "execution"), 5u);
}

TEST(Nearest, NamesThatMayHaveBeenMeant)
{
    const std::vector<std::string> verbs = {"analyze", "info", "record", "states", "test"};
    EXPECT_EQ(nearest_name("recrod", verbs), "record");
    EXPECT_EQ(nearest_name("zzz", verbs), "info") << "whatever it is, the shortest way";
    EXPECT_EQ(nearest_name("x", {}), "");
    EXPECT_EQ(meant_name("state", verbs), "states");
    EXPECT_EQ(meant_name("tset", verbs), "") << "half of it is wrong";
    EXPECT_EQ(meant_name("analyse", verbs), "analyze");
    EXPECT_EQ(meant_name("frobnicate", verbs), "");
    EXPECT_EQ(meant_name("", verbs), "");
    EXPECT_EQ(meant_name("x", {}), "");
    EXPECT_EQ(meant_name(std::string(100000, 'a'), verbs), "");
}

} // namespace
} // namespace fencepost
