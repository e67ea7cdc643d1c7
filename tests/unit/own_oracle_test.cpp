// SPDX-License-Identifier: GPL-2.0-or-later
// Oracles of the caller's own, before a guest that answers as it is told.
#include <gtest/gtest.h>

#include "base/error.h"
#include "replayer/guest/judged/judged_guest.h"
#include "tests/unit/made_hearing.h"

namespace fencepost::oracle {
namespace {

class MadeGuest : public guest::JudgedGuest {
public:
    agent::JudgeReply judge(const agent::JudgeRequest &request, Deadline) override
    {
        judged = request;
        return {};
    }
    void take_file(const agent::JobFile &, Deadline) override {}
    agent::Outcome<agent::MountReply> mount(const agent::MountRequest &, Deadline) override
    {
        return agent::MountReply();
    }
    agent::Outcome<agent::UnmountReply> unmount(const std::string &, Deadline) override
    {
        return agent::UnmountReply();
    }
    agent::Outcome<agent::RunReply> run(const agent::RunRequest &request, Deadline) override
    {
        asked = request;
        if (lost)
            fail(ErrorKind::guest, "the guest is gone");
        return reply;
    }
    agent::Outcome<std::string> read_file(const std::string &, std::size_t, Deadline) override
    {
        return agent::Failure{ENOENT, "no such file"};
    }
    agent::Outcome<agent::WriteFileReply> write_file(const std::string &, std::string_view,
                                                     Deadline) override
    {
        return agent::WriteFileReply();
    }
    std::string kernel_log() const override { return ""; }
    std::string console() const override { return ""; }
    std::optional<guest::KernelCrash> wait_for_crash(std::chrono::milliseconds) const override
    {
        return std::nullopt;
    }
    std::chrono::milliseconds waited_for_cpu() const override { return {}; }

    bool lost = false;
    agent::RunReply reply;
    agent::RunRequest asked;
    agent::JudgeRequest judged;
};

using Answer = std::optional<OwnObjection>;

class Own : public testing::Test {
protected:
    std::string visited(std::function<Answer(GuestVisit &)> judge)
    {
        const OwnOracle own = {"test:mine", "1", false, std::move(judge)};
        const Question question = {7, true, std::chrono::seconds(3)};
        const std::string root = "/mnt/pm";
        GuestVisit visit(guest, question, root);
        judgement = {};
        make_own_oracle(own, {})->visit(visit, judgement);
        return said(judgement);
    }

    MadeGuest guest;
    Judgement judgement;
};

TEST_F(Own, AnObjectionIsEvidence)
{
    EXPECT_EQ(visited([](GuestVisit &) { return std::nullopt; }), "");
    EXPECT_EQ(
        visited([](GuestVisit &) { return OwnObjection{"12 keys of 17 are lost\nand more"}; }),
        "inconsistent: # keys of # are lost\n");
    EXPECT_EQ(judgement.evidence[0].title, "12 keys of 17 are lost");
    EXPECT_EQ(judgement.evidence[0].oracle, "test:mine");
}

TEST_F(Own, WhatItKnowsAndWhereCommandsRun)
{
    visited([](GuestVisit &visit) -> Answer {
        EXPECT_EQ(visit.crash_seq(), 7u);
        EXPECT_TRUE(visit.crashed());
        EXPECT_EQ(visit.progress, nullptr);
        visit.run({.argv = {"true"}});
        EXPECT_EQ(std::get<agent::Failure>(visit.read("a")).error_number, ENOENT);
        visit.tree();
        return std::nullopt;
    });
    EXPECT_EQ(guest.asked.directory, "/mnt/pm");
    EXPECT_EQ(guest.asked.time_limit_ms, 3000u);
    EXPECT_TRUE(guest.judged.dump);
    EXPECT_EQ(guest.judged.mount.fstype, "") << "it is mounted";
    EXPECT_EQ(guest.judged.mount.target, "/mnt/pm");
}

TEST_F(Own, ALimitOfItsOwnIsItsOwnBusiness)
{
    guest.reply.end = agent::RunEnd::timed_out;
    EXPECT_EQ(visited([](GuestVisit &visit) -> Answer {
                  visit.run({.argv = {"sleep"}, .time_limit_ms = 100});
                  return std::nullopt;
              }),
              "");
    EXPECT_EQ(guest.asked.time_limit_ms, 100u);
}

TEST_F(Own, ACommandThatDoesNotEndIsAHangWhateverIsMadeOfIt)
{
    guest.reply.end = agent::RunEnd::timed_out;
    for (const bool caught : {false, true})
        EXPECT_EQ(visited([&](GuestVisit &visit) -> Answer {
                      try {
                          visit.run({.argv = {"sleep"}, .time_limit_ms = 100000});
                      } catch (const Error &) {
                          if (!caught)
                              throw;
                      }
                      return OwnObjection{"something else"};
                  }),
                  "guest_hang: a command of the oracle did not end in its time\n");
}

TEST_F(Own, ALostGuestIsThrownWhateverIsMadeOfIt)
{
    guest.lost = true;
    const auto ask = [&] {
        visited([&](GuestVisit &visit) -> Answer {
            EXPECT_THROW(visit.run({.argv = {"true"}}), Error);
            guest.lost = false;
            EXPECT_THROW(visit.read("a"), Error) << "it stays lost";
            return OwnObjection{"something else"};
        });
    };
    EXPECT_THROW(ask(), Error);
    EXPECT_TRUE(judgement.evidence.empty());
}

TEST_F(Own, WhatElseItThrowsIsItsOwn)
{
    EXPECT_THROW(visited([](GuestVisit &) -> Answer { throw std::out_of_range("mine"); }),
                 std::out_of_range);
}

TEST(OwnNames, HaveAColonAndAreNotMasked)
{
    EXPECT_TRUE(is_own("python:mine"));
    for (const OracleEntry &entry : oracle_table())
        EXPECT_FALSE(is_own(entry.name));
    EXPECT_FALSE(is_maskable({"python:mine", Verdict::inconsistent, "wrong", {}}));
    EXPECT_TRUE(is_maskable({"folder", Verdict::inconsistent, "wrong", {}}));
}

} // namespace
} // namespace fencepost::oracle
