// SPDX-License-Identifier: GPL-2.0-or-later
// Images without a crash are judged first: what is said of them is told once and masked, and what
// cannot be masked is a finding of its own.
#include <gtest/gtest.h>

#include "tests/guest/recorded_run.h"

namespace fencepost::test {
namespace {

// Has one file that a crash may lose.
const char *const kSpec = R"(
[pm]
size = "32M"
[file_system]
type = "ext4"
[workload]
kind = "ops"
text = """
mkdir d
sync
open a d/a rdwr|creat
write a "hello"
fsync a
"""
)";

RecordedRun &recorded()
{
    static RecordedRun run(kSpec);
    return run;
}

// The tree that the mark finds is the first of the history; the image before it has nothing of it.
const char *const kMarkedSpec = R"(
[pm]
size = "32M"
[file_system]
type = "ext4"
[workload]
kind = "ops"
text = """
mkdir d
open a d/a rdwr|creat
write a "before"
mark
write a "behind"
fsync a
"""
)";

// An oracle that says one thing, of the images for which the test holds.
class SayingOracle {
public:
    SayingOracle(const std::string &test, int status)
    {
        write_file(directory_.path() / "oracle.toml", "program = \"say\"\n");
        write_file(directory_.path() / "say",
                   fmt::format("#!/bin/sh\n{} || exit 0\necho '{{\"summary\": \"not as I like "
                               "it\"}}'\nexit {}\n",
                               test, status));
        std::filesystem::permissions(directory_.path() / "say", std::filesystem::perms(0755));
    }

    std::string name() const { return directory_.path().string() + "/"; }

private:
    TemporaryDirectory directory_{"/tmp", "fp-oracle-"};
};

TestReport test(const std::vector<std::string> &oracles, bool restart = true)
{
    TestOptions options;
    options.walk.strategies = states::parse_strategies("none-all");
    options.confirm = 0;
    options.restart = restart;
    options.limit = 12;
    const auto judge = recorded().judge(oracles);
    return test_run(recorded().files(), recorded().guest(), *judge, options, {});
}

TEST(WithoutACrash, AHealthyFileSystemHasNothingWrong)
{
    TestReport report = test({"mount", "semantic", "usable"});
    EXPECT_EQ(report.baseline.images, (std::vector<std::string>{"initial", "final"}))
        << report.baseline.missing;
    for (const Objection &each : report.baseline.objections)
        ADD_FAILURE() << each.image << ": " << each.evidence.summary;
    EXPECT_GE(report.tested, 5u);
    EXPECT_EQ(report.verdicts, (std::map<std::string, std::uint64_t>{{"pass", report.tested}}));
    EXPECT_EQ(report.masked, 0u);
    const std::uint64_t restores = report.workers.restores;
    EXPECT_LE(restores, 2u) << "a healthy guest was thrown away";
    // Judged once.
    report = test({"mount", "semantic", "usable"}, false);
    EXPECT_EQ(report.baseline.images.size(), 2u);
}

TEST(WithoutACrash, TheInitialImageIsWhatTheMarkFinds)
{
    const RecordedRun marked(kMarkedSpec);
    TestOptions options;
    options.walk.strategies = states::parse_strategies("none-all");
    options.confirm = 0;
    const SayingOracle oracle("grep -q before \"$2\"", 1); // in both, or it is told of one alone
    const auto judge = marked.judge({"mount", "semantic", oracle.name()});
    const TestReport report = test_run(marked.files(), marked.guest(), *judge, options, {});
    EXPECT_EQ(report.baseline.images, (std::vector<std::string>{"initial", "final"}))
        << report.baseline.missing;
    ASSERT_EQ(report.baseline.objections.size(), 2u);
    for (const Objection &each : report.baseline.objections)
        EXPECT_EQ(each.evidence.summary, "not as I like it") << each.image;
    EXPECT_TRUE(report.baseline.left_out().empty()) << "semantic judges";
    EXPECT_EQ(report.verdicts, (std::map<std::string, std::uint64_t>{{"pass", report.tested}}));
}

TEST(WithoutACrash, WhatIsAlwaysSaidIsMaskedAndTold)
{
    const SayingOracle oracle("true", 1);
    const TestReport report = test({"mount", oracle.name()});
    ASSERT_EQ(report.baseline.objections.size(), 2u);
    EXPECT_EQ(report.baseline.objections[0].evidence.summary, "not as I like it");
    EXPECT_TRUE(report.baseline.objections[0].masked());
    EXPECT_GE(report.tested, 5u);
    EXPECT_EQ(report.verdicts, (std::map<std::string, std::uint64_t>{{"pass", report.tested}}));
    EXPECT_EQ(report.masked, report.tested);
    EXPECT_TRUE(report.findings.empty());
    EXPECT_FALSE(report.found_bugs());
}

// "hello" is in PM when the workload has ended, and not before.
TEST(WithoutACrash, TheFinalImageIsWhatTheWorkloadLeaves)
{
    const SayingOracle oracle("grep -q hello \"$2\"", 1);
    const TestReport report = test({"mount", oracle.name()});
    ASSERT_EQ(report.baseline.objections.size(), 1u);
    EXPECT_EQ(report.baseline.objections[0].image, "final");
}

TEST(WithoutACrash, AnInitialImageThatCannotBeRecoveredFromEndsTheTest)
{
    const SayingOracle oracle("true", 2);
    const TestReport report = test({"mount", oracle.name()});
    EXPECT_EQ(report.stop, TestStop::baseline);
    EXPECT_EQ(report.tested, 0u);
    EXPECT_TRUE(report.found_bugs()) << "exit status 1";
    ASSERT_EQ(report.baseline.objections.size(), 1u);
    EXPECT_FALSE(report.baseline.objections[0].masked());
}

} // namespace
} // namespace fencepost::test
