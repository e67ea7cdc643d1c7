// SPDX-License-Identifier: GPL-2.0-or-later
// What decides that images of a recorded run fail, and what of it becomes a finding.
#include <atomic>
#include <thread>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "analyzer/report/json.h"
#include "tests/guest/recorded_run.h"

namespace fencepost::test {
namespace {

using oracle::Judgement;
using oracle::Subject;
using oracle::Verdict;

TestOptions options_of(const std::string &strategies)
{
    TestOptions options;
    options.walk.strategies = states::parse_strategies(strategies);
    options.confirm = 0;
    options.jobs = 2;
    return options;
}

// Two flags, each stored when what it stands for is not guaranteed: the first two parts of a
// record, the second a body. What recovery says is the same for both, and by their lengths the
// agent stores them with the same instructions.
const char *const kTwoFlags = R"(
pm.size = "32M"
file_system.type = "ext4"
[setup]
script = "dd if=/dev/zero of=ledger bs=4096 count=2 2>/dev/null"
[workload]
kind = "ops"
text = """
open f ledger rdwr
map m f 0 8192
store m 0 "headhead"
store m 128 "tailtailtailtail"
store m 1024 "n"
fence
store m 4096 "valid"
flush m 4096 5
store m 1088 "n"
fence
flush m 0 8
flush m 128 16
fence
store m 256 "bodybody"
fence
store m 4224 "ready"
flush m 4224 5
fence
unmap m
"""
[test]
oracles = ["program"]
recovery = ["sh", "-c", """
has() { [ \"$(dd if=/mnt/pm/ledger bs=1 skip=$1 count=${#2} 2>/dev/null)\" = $2 ]; }
if has 4096 valid; then has 0 headhead && has 128 tailtailtailtail || { echo wrong; exit 1; }; fi
if has 4224 ready; then has 256 bodybody || { echo wrong; exit 1; }; fi
"""]
)";

TEST(Findings, WhatDecidesIsFoundByTests)
{
    const RecordedRun two_flags(kTwoFlags);
    const auto judge = two_flags.judge({});
    TestOptions options = options_of("none-all,subsets:1");
    options.walk.window =
        states::parse_window("op:3-19", trace::TraceReader(two_flags.files().trace()));
    const TestReport report = test_run(two_flags.files(), two_flags.guest(), *judge, options, {});
    ASSERT_EQ(report.findings.size(), 2u) << "one for each flag";
    EXPECT_GT(report.probes, 0u);
    // Images lack the head, the tail or both; the flag is what they have in common.
    const Finding &first = report.findings[0];
    EXPECT_EQ(first.decides, findings::Decides::order);
    EXPECT_GE(first.count, 3u);
    EXPECT_FALSE(place_of(first, findings::kAbsent));
    EXPECT_EQ(first.absent_sites.size(), 2u);
    ASSERT_TRUE(place_of(first, findings::kPresent));
    EXPECT_EQ(place_of(first, findings::kPresent)->operation, "store m 4096 \"valid\"");
    const Finding &second = report.findings[1];
    EXPECT_NE(second.id, first.id);
    EXPECT_EQ(second.summary, first.summary);
    EXPECT_EQ(second.decides, findings::Decides::order) << "its flag is its own";
    EXPECT_EQ(second.count, 4u);
    ASSERT_TRUE(place_of(second, findings::kPresent));
    EXPECT_EQ(place_of(second, findings::kPresent)->operation, "store m 4224 \"ready\"");
    ASSERT_TRUE(place_of(second, findings::kAbsent));
    const std::string body = place_of(second, findings::kAbsent)->operation;
    EXPECT_EQ(body, "store m 256 \"bodybody\"");
    EXPECT_EQ(report.verdicts.at("inconsistent"), first.count + second.count);
    for (const Finding &finding : report.findings) {
        const auto summary = nlohmann::json::parse(
            read_file(two_flags.files().findings() / finding.id / "summary.json"));
        EXPECT_EQ(summary, report::to_json(finding));
        ASSERT_TRUE(place_of(finding, findings::kLast));
        EXPECT_FALSE(place_of(finding, findings::kLast)->at.callers.empty());
    }

    // In fresh guests only.
    options.walk.strategies = states::parse_strategies("none-all");
    options.always_fresh = options.restart = true;
    const TestReport fresh = test_run(two_flags.files(), two_flags.guest(), *judge, options, {});
    ASSERT_EQ(fresh.findings.size(), 2u);
    ASSERT_TRUE(place_of(fresh.findings[1], findings::kAbsent));
    EXPECT_EQ(place_of(fresh.findings[1], findings::kAbsent)->operation, body);
    EXPECT_GT(fresh.probes, 0u);
}

// "value" is not flushed though "valid" says that it is there, and "early" may not be there before
// "late": while both are in flight, images fail with everything and with nothing. What recovery
// says is the same.
const char *const kBothEnds = R"(
pm.size = "32M"
file_system.type = "ext4"
[setup]
script = "dd if=/dev/zero of=ledger bs=4096 count=4 2>/dev/null"
[workload]
kind = "ops"
text = """
open f ledger rdwr
map m f 0 16384
store m 0 "valuevalue"
store m 4096 "valid"
flush m 4096 5
fence
store m 8192 "early"
store m 2048 "n"
flush m 2048 1
fence
store m 12288 "late"
flush m 12288 4
fence
unmap m
"""
[test]
oracles = ["program"]
recovery = ["sh", "-c", """
has() { [ \"$(dd if=/mnt/pm/ledger bs=1 skip=$1 count=${#2} 2>/dev/null)\" = $2 ]; }
if has 4096 valid; then has 0 valuevalue || { echo wrong; exit 1; }; fi
if has 8192 early; then has 12288 late || { echo wrong; exit 1; }; fi
"""]
)";

TEST(Findings, WhatDecidesBetweenTwoBugs)
{
    const RecordedRun both_ends(kBothEnds);
    const auto judge = both_ends.judge({});
    TestOptions options = options_of("none-all,subsets:1");
    options.walk.window =
        states::parse_window("op:3-11", trace::TraceReader(both_ends.files().trace()));
    const TestReport report = test_run(both_ends.files(), both_ends.guest(), *judge, options, {});
    ASSERT_EQ(report.findings.size(), 2u);
    const Finding &value = report.findings[0];
    EXPECT_EQ(value.absent_code, (std::vector<std::string>{"in: store m 0 \"valuevalue\""}));
    const Finding &early = report.findings[1];
    EXPECT_EQ(early.decides, findings::Decides::present) << "and not neither";
    EXPECT_EQ(early.present_code, (std::vector<std::string>{"in: store m 8192 \"early\""}));
    EXPECT_EQ(value.summary, early.summary);
}

// What the first failing image says comes out when other images are done.
class LateFirst : public oracle::Judge {
public:
    explicit LateFirst(std::unique_ptr<oracle::Judge> judge) : judge_(std::move(judge)) {}

    void prepare(guest::JudgedGuest &guest) override { judge_->prepare(guest); }
    bool others_first = false;

private:
    void examine(const Subject &subject, Judgement &judgement) override
    {
        judgement = judge_->judge(subject);
        ++judged_;
        if (!others_first || judgement.verdict == Verdict::pass || late_.exchange(true))
            return;
        const unsigned wanted = judged_ + 8;
        const Deadline patience = Deadline::after(std::chrono::seconds(60));
        while (judged_ < wanted && !patience.passed())
            std::this_thread::yield();
        EXPECT_GE(judged_, wanted) << "the other worker judges";
    }

    std::unique_ptr<oracle::Judge> judge_;
    std::atomic<unsigned> judged_ = 0;
    std::atomic<bool> late_ = false;
};

TEST(Findings, DoNotDependOnWhichWorkerIsDoneFirst)
{
    const RecordedRun two_flags(kTwoFlags);
    const auto findings_of = [&](unsigned jobs) {
        LateFirst judge(two_flags.judge({}));
        judge.others_first = jobs > 1;
        TestOptions options = options_of("none-all,subsets:2");
        options.walk.window =
            states::parse_window("op:3-19", trace::TraceReader(two_flags.files().trace()));
        options.jobs = jobs;
        options.restart = true;
        nlohmann::json found = nlohmann::json::array();
        for (const Finding &each :
             test_run(two_flags.files(), two_flags.guest(), judge, options, {}).findings)
            found.push_back(report::to_json(each));
        return found;
    };
    const nlohmann::json alone = findings_of(1);
    EXPECT_EQ(alone.size(), 2u);
    EXPECT_EQ(findings_of(2), alone);
}

// Three flags, each durable while the four lines of its record are in flight, and stay so for a
// while: stores that change nothing end epochs. All that recovery says is the same. Lengths differ
// as above.
std::string three_causes(unsigned epochs)
{
    std::string ops =
        "open f ledger rdwr\nmap m f 0 16384\nstore m 12288 \"x\"\nflush m 12288 1\nfence\n";
    std::string checks;
    const std::pair<std::string, std::string> texts[] = {
        {"body", "k"}, {"bodybody", "valid"}, {"bod", "validated"}};
    unsigned record = 0;
    for (const auto &[body, flag] : texts) {
        for (unsigned line = 0; line < 4; ++line)
            ops += fmt::format("store m {} \"{}\"\n", record + line * 64, body);
        ops += fmt::format("store m {0} \"{1}\"\nflush m {0} 9\nfence\n", 4096 + record, flag);
        for (unsigned i = 0; i < epochs; ++i)
            ops += "store m 12288 \"x\"\nflush m 12288 1\nfence\n";
        ops += fmt::format("flush m {} 256\nfence\n", record);
        checks += fmt::format("if has {} {}; then for at in 0 64 128 192; do has $(({} + at)) "
                              "{} || {{ echo wrong; exit 1; }}; done; fi\n",
                              4096 + record, flag, record, body);
        record += 1024;
    }
    return fmt::format(R"(
pm.size = "32M"
file_system.type = "ext4"
[setup]
script = "dd if=/dev/zero of=ledger bs=4096 count=4 2>/dev/null"
[workload]
kind = "ops"
text = """
{}unmap m
"""
[test]
oracles = ["program"]
recovery = ["sh", "-c", """
has() {{ [ \"$(dd if=/mnt/pm/ledger bs=1 skip=$1 count=${{#2}} 2>/dev/null)\" = $2 ]; }}
{}"""]
)",
                       ops, checks);
}

TEST(Findings, FiveThousandFailingStatesOfThreeCauses)
{
    const RecordedRun run(three_causes(20));
    const auto judge = run.judge({});
    TestOptions options = options_of("exhaustive:100000");
    options.walk.window = states::parse_window("op:5-", trace::TraceReader(run.files().trace()));
    const TestReport report = test_run(run.files(), run.guest(), *judge, options, {});
    std::uint64_t states = 0;
    for (const Finding &each : report.findings)
        states += each.state_count;
    std::printf("%llu failing states, %llu failing images, %zu findings\n",
                static_cast<unsigned long long>(states),
                static_cast<unsigned long long>(report.verdicts.at("inconsistent")),
                report.findings.size());
    EXPECT_GE(states, 5000u);
    EXPECT_EQ(report.findings.size(), 3u);
}

} // namespace
} // namespace fencepost::test
