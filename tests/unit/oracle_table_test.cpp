// SPDX-License-Identifier: GPL-2.0-or-later
// The table of oracles: who may judge what, what users read about them, and how those without a
// test of their own judge.
#include "replayer/oracle/oracle_table.h"

#include <fstream>
#include <sstream>

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "replayer/oracle/oracle_choice.h"
#include "replayer/oracle/oracle_folder.h"
#include "tests/unit/made_hearing.h"

namespace fencepost::oracle {
namespace {

using agent::JudgeStep;

std::string refusal(const std::vector<std::string> &names, const std::string &file_system,
                    bool has_recovery)
{
    try {
        check_oracles(names, file_system, has_recovery);
    } catch (const Error &error) {
        EXPECT_EQ(error.kind(), ErrorKind::usage);
        return error.what();
    }
    return "";
}

TEST(OracleTable, SaysWhoSuitsARun)
{
    EXPECT_EQ(refusal({}, "ext4", false), "");
    EXPECT_EQ(refusal({}, "", true), "");
    EXPECT_NE(refusal({}, "", false), "");
    EXPECT_EQ(refusal({"mount", "semantic", "usable", "differential", "ext4"}, "ext4", false), "");
    EXPECT_EQ(refusal({"program"}, "", true), "");
    EXPECT_EQ(refusal({"program"}, "ext4", false),
              "the oracle program needs a command: test.recovery in the spec");
    EXPECT_EQ(refusal({"program", "usable"}, "", true),
              "the oracle usable is for file systems, and this run has none");
    EXPECT_EQ(refusal({"xfs"}, "", true),
              "the oracle xfs is for file systems, and this run has none");
    EXPECT_EQ(refusal({"xfs"}, "ext4", true), "the oracle xfs is not for ext4");
    EXPECT_EQ(refusal({"nonesuch"}, "ext4", true),
              fmt::format("there is no oracle 'nonesuch'; there are {}, and your own by the path "
                          "of their folder",
                          fmt::join(oracle_names(), ", ")));
}

TEST(OracleTable, EachNameIsOneOracle)
{
    std::vector<std::string> names;
    for (const OracleEntry &entry : oracle_table())
        names.emplace_back(entry.name);
    for (const OracleFolder &folder : shipped_folders())
        names.push_back(folder.name);
    std::sort(names.begin(), names.end());
    EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
    EXPECT_EQ(names, oracle_names());
}

std::string page_row(const OracleEntry &entry)
{
    const char *turn = entry.turn == OracleTurn::always       ? "always"
                       : entry.turn == OracleTurn::by_default ? "by default"
                                                              : "by name";
    return fmt::format("| `{}` | {} | {} | {} |", entry.name, entry.help, turn,
                       entry.need == OracleNeed::file_system ? "a file system" : "`test.recovery`");
}

TEST(OracleTable, TheReferenceHasIt)
{
    const std::ifstream file(FENCEPOST_SOURCE "/docs/reference/oracles.md");
    std::stringstream page;
    page << file.rdbuf();
    std::vector<std::string> rows;
    for (const OracleEntry &entry : oracle_table())
        rows.push_back(page_row(entry));
    for (const OracleFolder &folder : shipped_folders())
        rows.push_back(fmt::format("| `{}` | {} | by default | `{}` |", folder.name, folder.summary,
                                   fmt::join(folder.file_systems, "`, `")));
    EXPECT_NE(page.str().find(fmt::format("|---|---|---|---|\n{}\n\n", fmt::join(rows, "\n"))),
              std::string::npos)
        << fmt::format("{}", fmt::join(rows, "\n"));
}

TEST(Masks, AreWhatAnOracleSaidAndNothingElse)
{
    EXPECT_TRUE(is_maskable({"mount", Verdict::inconsistent, "fs: wrote # bytes", {}}));
    EXPECT_TRUE(is_maskable({"ext4", Verdict::inconsistent, "free blocks count wrong", {}}));
    EXPECT_TRUE(is_maskable({"mine", Verdict::inconsistent, "not as I like it", {}}));
    EXPECT_FALSE(is_maskable({"mount", Verdict::recovery_failed, "mount: no", {}}));
    EXPECT_FALSE(is_maskable({"ext4", Verdict::infra_error, "it did not end", {}}));
    EXPECT_FALSE(is_maskable({"program", Verdict::inconsistent, "ended with status 1", {}}))
        << "a checker that always fails would pass everything";
    EXPECT_FALSE(is_maskable({"semantic", Verdict::inconsistent, "bytes: a", {}}))
        << "what the workload leaves is legal";
    EXPECT_TRUE(is_maskable({"differential", Verdict::inconsistent, "link_count: a", {}}));
    EXPECT_FALSE(is_maskable({"guest", Verdict::inconsistent, "x", {}}));
    EXPECT_FALSE(is_maskable({"harness", Verdict::inconsistent, "x", {}}));
}

// Says what it is told to.
class SayingOracle : public Oracle {
public:
    SayingOracle() : Oracle("mine", JudgeStep::unmount) {}

    void judge(const Hearing &hearing, Judgement &judgement) const override
    {
        object(hearing.question, evidence, judgement);
    }

    Evidence evidence = {"mine", Verdict::inconsistent, "wrong", {}};
};

TEST(Masks, AreOfTheSameOracleAndItsSummary)
{
    SayingOracle oracle;
    oracle.mask({{"other", Verdict::inconsistent, "wrong", {}},
                 {"mine", Verdict::recovery_failed, "wrong", {}}});
    EXPECT_EQ(said(hear(oracle, {})), "inconsistent: wrong\n");
    oracle.mask({{"mine", Verdict::inconsistent, "wrong", {}}});
    const Judgement masked = hear(oracle, {});
    EXPECT_EQ(said(masked), "");
    EXPECT_EQ(masked.masked, 1u);
    EXPECT_EQ(said(hear(oracle, {}, false)), "inconsistent: wrong\n") << "healthy images tell all";
    oracle.evidence.verdict = Verdict::recovery_failed;
    EXPECT_EQ(said(hear(oracle, {})), "recovery_failed: wrong\n");
}

TEST(MountOracle, StepsAndLog)
{
    const auto oracle = make_oracle("mount");
    agent::JudgeReply reply;
    EXPECT_EQ(said(hear(*oracle, reply)), "");
    reply.steps = {{JudgeStep::mount, 117, "mount: Structure needs cleaning", 0}};
    EXPECT_EQ(said(hear(*oracle, reply)), "recovery_failed: mount: Structure needs cleaning\n");
    reply.steps = {{JudgeStep::unmount, 16, "unmount: Device or resource busy", 0}};
    EXPECT_EQ(said(hear(*oracle, reply)), "inconsistent: unmount: Device or resource busy\n");
    reply.steps.clear();
    reply.kernel_log = "3,1,1,-;fs: wrote 17 bytes\n3,2,1,-;fs: inode 5 is wrong\n";
    EXPECT_EQ(said(hear(*oracle, reply)), "inconsistent: fs: wrote # bytes\n") << "the first";
    EXPECT_EQ(said(hear(*oracle, reply, false)),
              "inconsistent: fs: wrote # bytes\ninconsistent: fs: inode # is wrong\n");
    EXPECT_TRUE(hear(*oracle, reply).guest_spent);
    oracle->mask({{"mount", Verdict::inconsistent, "fs: wrote # bytes", {}}});
    const Judgement masked = hear(*oracle, reply);
    EXPECT_EQ(said(masked), "inconsistent: fs: inode # is wrong\n");
    EXPECT_EQ(masked.masked, 1u);
    reply.kernel_log.clear();
    reply.log_failure = "records were overwritten before they were read";
    EXPECT_EQ(said(hear(*oracle, reply)), "infra_error: the kernel log is not whole: records were "
                                          "overwritten before they were read\n");
}

TEST(ProgramOracle, TheEndOfTheCommandIsTheVerdict)
{
    JudgeSettings settings;
    settings.inputs.workload.steps.emplace_back().kind = agent::StepKind::ops;
    settings.inputs.test.recovery = {"/bin/check"};
    const auto oracle = make_oracle("program", settings);
    agent::JudgeReply reply;
    EXPECT_EQ(said(hear(*oracle, reply)), "");
    reply.command.code = 3;
    reply.command.errors = "looking\nrecord 12 is lost\n";
    const Judgement lost = hear(*oracle, reply);
    EXPECT_EQ(said(lost),
              "inconsistent: the recovery command ended with status 3: record # is lost\n");
    EXPECT_EQ(lost.evidence[0].title,
              "the recovery command ended with status 3: record 12 is lost");
    reply.command.end = agent::RunEnd::signalled;
    reply.command.code = 11;
    EXPECT_EQ(said(hear(*oracle, reply)),
              "recovery_failed: the recovery command was killed by signal 11: record # is lost\n");
    reply.command.end = agent::RunEnd::timed_out;
    EXPECT_EQ(said(hear(*oracle, reply)),
              "guest_hang: the recovery command did not end in its time: record # is lost\n");
    EXPECT_EQ(said(hear(*oracle, reply, true, true)),
              "infra_error: the host was too busy to give the recovery command its time\n");
    reply.steps = {{JudgeStep::command, 2, "run /bin/check: No such file or directory", 0}};
    EXPECT_EQ(said(hear(*oracle, reply)),
              "infra_error: run /bin/check: No such file or directory\n");
    reply.command.survivors = 1;
    EXPECT_TRUE(hear(*oracle, reply).guest_spent);
}

} // namespace
} // namespace fencepost::oracle
