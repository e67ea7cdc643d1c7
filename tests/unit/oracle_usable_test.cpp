// SPDX-License-Identifier: GPL-2.0-or-later
// What a trial's reply comes to: problems, leaks, and what is no leak.
#include <cerrno>

#include <gtest/gtest.h>

#include "replayer/oracle/usable_evidence.h"

namespace fencepost::oracle {
namespace {

guest::JudgeReply reply_with(std::uint64_t blocks, std::uint64_t inodes)
{
    guest::JudgeReply reply;
    reply.removed = true;
    reply.used_after = {blocks, inodes};
    return reply;
}

std::string said(const guest::JudgeReply &reply, const std::vector<agent::SpaceUse> &healthy)
{
    std::string text;
    for (const Evidence &evidence : usable_evidence(reply, reply.problems, space_range(healthy)))
        text += fmt::format("{}: {}\n", to_string(evidence.verdict), evidence.summary);
    return text;
}

TEST(Usable, AProblemHasItsOperationPathAndError)
{
    guest::JudgeReply reply;
    reply.problems = {{"d/a", "append", EIO}, {"b", "rename", EINVAL}};
    EXPECT_EQ(said(reply, {}), "inconsistent: append: d/a: Input/output error\n");
    reply.problems = {{"d/a", "overwrite", 0}};
    EXPECT_EQ(said(reply, {}),
              "inconsistent: overwrite: d/a: what came back is not what went in\n");
    EXPECT_EQ(usable_evidence(reply, reply.problems, {})[0].details["problems"].size(), 1u);
}

TEST(Usable, WhatStaysInUseIsALeak)
{
    const std::vector<agent::SpaceUse> healthy = {{10, 3}};
    EXPECT_EQ(said(reply_with(10, 3), healthy), "");
    EXPECT_EQ(said(reply_with(11, 3), healthy),
              "inconsistent: leak: blocks stay in use when everything is removed\n");
    EXPECT_EQ(said(reply_with(10, 4), healthy),
              "inconsistent: leak: inodes stay in use when everything is removed\n");
    EXPECT_EQ(said(reply_with(9, 3), healthy), "inconsistent: more blocks are free when everything "
                                               "is removed than on a healthy image\n");
    EXPECT_EQ(said(reply_with(10, 2), healthy),
              "inconsistent: more inodes are free when everything "
              "is removed than on a healthy image\n");
    const Evidence leak = usable_evidence(reply_with(15, 3), {}, space_range(healthy)).at(0);
    EXPECT_EQ(leak.details["used_blocks"], 15);
    EXPECT_EQ(leak.details["healthy_blocks"], 10);
}

TEST(Usable, HealthyImagesMayDiffer)
{
    const std::vector<agent::SpaceUse> healthy = {{10, 4}, {12, 3}};
    EXPECT_EQ(said(reply_with(11, 4), healthy), "");
    EXPECT_NE(said(reply_with(13, 4), healthy), "");
    EXPECT_NE(said(reply_with(11, 2), healthy), "");
}

TEST(Usable, WhatCouldNotBeRemovedIsNotCompared)
{
    guest::JudgeReply partly = reply_with(50, 50);
    partly.removed = false;
    EXPECT_EQ(said(partly, {{10, 3}}), "");
    EXPECT_EQ(said(reply_with(1, 1), {}), "") << "nothing to compare with";
}

} // namespace
} // namespace fencepost::oracle
