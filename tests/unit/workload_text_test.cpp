// SPDX-License-Identifier: GPL-2.0-or-later
// Workloads made shorter, against oracles that are functions of their lines.
#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "replayer/test/needed_parts.h"
#include "replayer/test/shortened_workload.h"
#include "replayer/test/workload_text.h"

namespace fencepost::test {
namespace {

bool has(const Lines &lines, const std::string &line)
{
    return std::find(lines.begin(), lines.end(), line) != lines.end();
}

// Fifty operations: files of which each is made, written and closed, and two that matter.
Lines fifty()
{
    Lines lines;
    for (unsigned file = 0; lines.size() < 48; ++file)
        for (const char *form : {"open f{} file{} rdwr|creat", "write f{} 3000", "close f{}"}) {
            std::string line = form;
            for (std::size_t at; (at = line.find("{}")) != std::string::npos;)
                line.replace(at, 2, std::to_string(file));
            lines.push_back(line);
        }
    lines.insert(lines.begin() + 11, "open a victim rdwr|creat");
    lines.insert(lines.begin() + 37, "rename victim target");
    return lines;
}

struct Counted {
    std::function<bool(const Lines &)> oracle;
    unsigned most = 1000;
    unsigned asked = 0;

    Shortened shorten_lines(const Lines &lines)
    {
        std::set<Lines> seen;
        const auto operations = [](const Lines &tried) {
            const auto program = program_of(tried);
            return program ? operations_in(*program) : 0;
        };
        return shorten(lines, operations, [&](const Lines &tried) -> std::optional<bool> {
            if (asked == most)
                return std::nullopt;
            ++asked;
            EXPECT_TRUE(program_of(tried));
            EXPECT_TRUE(seen.insert(tried).second) << "asked twice";
            return oracle(tried);
        });
    }
};

bool renames(const Lines &lines)
{
    return has(lines, "open a victim rdwr|creat") && has(lines, "rename victim target");
}

TEST(WorkloadText, TwoOperationsOfFifty)
{
    ASSERT_EQ(fifty().size(), 50u);
    Counted counted{renames};
    const Shortened found = counted.shorten_lines(fifty());
    EXPECT_TRUE(found.complete);
    EXPECT_EQ(found.lines, (Lines{"open a victim rdwr|creat", "rename victim target"}));
    EXPECT_LE(counted.asked, 20u);
}

TEST(WorkloadText, WhatWasFoundWhenItMustStopStillFails)
{
    std::size_t shortest = 50;
    for (unsigned most = 0; most < 14; ++most) {
        const Shortened found = Counted{renames, most}.shorten_lines(fifty());
        EXPECT_TRUE(renames(found.lines));
        EXPECT_LE(found.lines.size(), shortest);
        shortest = found.lines.size();
    }
    EXPECT_LT(shortest, 20u);
}

TEST(WorkloadText, NumbersBecomeSmaller)
{
    const auto oracle = [](const Lines &lines) {
        const std::vector<agent::Op> ops = program_of(lines)->phases.at(0).threads.at(0).ops;
        return std::any_of(ops.begin(), ops.end(), [](const agent::Op &op) {
            return op.kind == agent::OpKind::pwrite && op.data.length >= 60;
        });
    };
    const Shortened found = Counted{oracle}.shorten_lines(
        {"mkdir d 0700", "open a f rdwr|creat 0644", "pwrite a 20K 12K:7", "fsync a"});
    EXPECT_EQ(found.lines, (Lines{"open a f rdwr|creat 0644", "pwrite a 0 64:7"}))
        << "neither a mode nor a seed is a size";
}

TEST(WorkloadText, ThreadsAreLeftOutTogether)
{
    const Lines lines = {"mkdir a", "parallel\nthread\n  mkdir b\nthread\n  mkdir c\nend",
                         "mkdir d"};
    const auto program = program_of(lines);
    ASSERT_TRUE(program);
    EXPECT_EQ(lines_of(*program), lines);
    EXPECT_EQ(operations_in(*program), 4u);
    const auto oracle = [&](const Lines &tried) { return has(tried, lines[1]); };
    EXPECT_EQ(Counted{oracle}.shorten_lines(lines).lines, Lines{lines[1]});
}

// Of ten parts the third is enough, but the fifth needs the ninth: what was needed at first is not
// in the end.
TEST(FindNeeded, LeavesOutWhatIsNoLongerNeeded)
{
    unsigned asked = 0;
    const NeededParts found =
        find_needed(10, [&](std::size_t first, std::span<const std::size_t> others) {
            const auto in = [&](std::size_t part) {
                return part < first ||
                       std::find(others.begin(), others.end(), part) != others.end();
            };
            ++asked;
            return std::optional(in(2) && (!in(4) || in(8)));
        });
    EXPECT_TRUE(found.complete);
    EXPECT_EQ(found.parts, std::vector<std::size_t>{2});
    EXPECT_LE(asked, 12u);
}

findings::Finding finding_in(const std::string &function, std::string_view role)
{
    findings::Finding finding;
    finding.oracle = "mount";
    finding.verdict = "recovery_failed";
    finding.summary = "it does not mount";
    finding.decides = findings::Decides::neither;
    if (role == findings::kAbsent) {
        finding.decides = findings::Decides::absent;
        finding.absent_code = {function};
    } else if (role == findings::kPresent) {
        finding.decides = findings::Decides::present;
        finding.present_code = {function};
    }
    return finding;
}

TEST(WorkloadText, TheSameCauseHasTheSameFunction)
{
    const findings::Finding commit = finding_in("commit", findings::kAbsent);
    EXPECT_TRUE(is_same_cause(commit, finding_in("commit", findings::kAbsent)));
    EXPECT_FALSE(is_same_cause(commit, finding_in("commit", findings::kPresent)));
    EXPECT_FALSE(is_same_cause(commit, finding_in("write", findings::kAbsent)));
    EXPECT_FALSE(is_same_cause(commit, finding_in("", "")));
    EXPECT_TRUE(is_same_cause(finding_in("", ""), finding_in("", "")));
    findings::Finding other = finding_in("", "");
    other.summary = "it mounts, and a file is gone";
    EXPECT_FALSE(is_same_cause(other, finding_in("", "")));
    other.also.push_back(
        {.verdict = "recovery_failed", .oracle = "mount", .summary = "it does not mount"});
    EXPECT_TRUE(is_same_cause(other, finding_in("", "")));
    other = commit;
    other.oracle = "usable";
    EXPECT_FALSE(is_same_cause(other, commit));
    other = commit;
    other.decides = findings::Decides::order;
    other.present_code = {"set_flag"};
    EXPECT_FALSE(is_same_cause(other, commit)) << "one more store decides";
    const findings::Finding store = finding_in("in: store m 1024 \"x\"", findings::kAbsent);
    EXPECT_TRUE(is_same_cause(store, finding_in("in: store m 0 \"x\"", findings::kAbsent)));
    EXPECT_FALSE(is_same_cause(store, finding_in("in: pwrite f 0 1", findings::kAbsent)));
}

} // namespace
} // namespace fencepost::test
