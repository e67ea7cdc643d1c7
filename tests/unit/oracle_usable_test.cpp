// SPDX-License-Identifier: GPL-2.0-or-later
// What a trial's reply comes to: problems, leaks, and what is no leak.
#include <cerrno>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/unit/made_hearing.h"

namespace fencepost::oracle {
namespace {

agent::JudgeReply reply_with(std::uint64_t blocks, std::uint64_t inodes)
{
    agent::JudgeReply reply;
    reply.removed = true;
    reply.used_after = {blocks, inodes};
    return reply;
}

agent::JudgeReply reply_with(const std::vector<agent::UsableProblem> &problems)
{
    agent::JudgeReply reply;
    reply.problems = problems;
    return reply;
}

Judgement judged(const agent::JudgeReply &reply, const std::vector<agent::SpaceUse> &healthy = {})
{
    const auto oracle = make_oracle("usable");
    oracle->expect_space(healthy);
    return hear(*oracle, reply);
}

TEST(Usable, AProblemHasItsOperationPathAndError)
{
    EXPECT_EQ(said(judged(reply_with({{"d/a", "append", EIO}, {"b", "rename", EINVAL}}))),
              "inconsistent: append: d/a: Input/output error\n");
    const Judgement back = judged(reply_with({{"d/a", "overwrite", 0}}));
    EXPECT_EQ(said(back), "inconsistent: overwrite: d/a: what came back is not what went in\n");
    EXPECT_EQ(back.evidence[0].details["problems"].size(), 1u);
}

// Whatever the name that it is met with.
TEST(Usable, WhatHealthyImagesGetTooIsMasked)
{
    const auto oracle = make_oracle("usable");
    const Judgement healthy = hear(
        *oracle, reply_with({{"d", "rename", EINVAL}, {"e", "rename", EINVAL}, {"d", "link", EIO}}),
        false);
    EXPECT_EQ(said(healthy),
              "inconsistent: rename: Invalid argument\ninconsistent: link: Input/output error\n");
    oracle->mask({healthy.evidence[0]});
    const Judgement crashed =
        hear(*oracle, reply_with({{"f", "rename", EINVAL}, {"g", "rename", EIO}}));
    EXPECT_EQ(said(crashed), "inconsistent: rename: g: Input/output error\n");
    EXPECT_EQ(crashed.masked, 1u);
    EXPECT_EQ(said(hear(*oracle, reply_with({{"f", "link", EINVAL}}))),
              "inconsistent: link: f: Invalid argument\n");
    EXPECT_EQ(said(hear(*oracle, reply_with({{"f", "rename", EINVAL}}))), "");
}

TEST(Usable, WhatStaysInUseIsALeak)
{
    const std::vector<agent::SpaceUse> healthy = {{10, 3}};
    EXPECT_EQ(said(judged(reply_with(10, 3), healthy)), "");
    EXPECT_EQ(said(judged(reply_with(11, 3), healthy)),
              "inconsistent: leak: blocks stay in use when everything is removed\n");
    EXPECT_EQ(said(judged(reply_with(10, 4), healthy)),
              "inconsistent: leak: inodes stay in use when everything is removed\n");
    EXPECT_EQ(said(judged(reply_with(9, 3), healthy)),
              "inconsistent: more blocks are free when everything is removed than on a healthy "
              "image\n");
    EXPECT_EQ(said(judged(reply_with(10, 2), healthy)),
              "inconsistent: more inodes are free when everything is removed than on a healthy "
              "image\n");
    const Judgement leak = judged(reply_with(15, 3), healthy);
    EXPECT_EQ(leak.evidence.at(0).details["used_blocks"], 15);
    EXPECT_EQ(leak.evidence.at(0).details["healthy_blocks"], 10);
    EXPECT_EQ(leak.used_when_empty, (agent::SpaceUse{15, 3}));
}

TEST(Usable, HealthyImagesMayDiffer)
{
    const std::vector<agent::SpaceUse> healthy = {{10, 4}, {12, 3}};
    EXPECT_EQ(said(judged(reply_with(11, 4), healthy)), "");
    EXPECT_NE(said(judged(reply_with(13, 4), healthy)), "");
    EXPECT_NE(said(judged(reply_with(11, 2), healthy)), "");
}

TEST(Usable, WhatCouldNotBeRemovedIsNotCompared)
{
    agent::JudgeReply partly = reply_with(50, 50);
    partly.removed = false;
    EXPECT_EQ(said(judged(partly, {{10, 3}})), "");
    const Judgement unknown = judged(reply_with(1, 1));
    EXPECT_EQ(said(unknown), "") << "nothing to compare with";
    EXPECT_EQ(unknown.not_tried,
              std::vector<std::string>{"usable: leaks: no image without a crash could be emptied"});
}

TEST(Usable, ATrialThatFailedSaysNothing)
{
    agent::JudgeReply reply;
    reply.steps = {{agent::JudgeStep::usable, EIO, "the trial: too many names", 0}};
    EXPECT_EQ(said(judged(reply)), "infra_error: the trial: too many names\n");
}

} // namespace
} // namespace fencepost::oracle
