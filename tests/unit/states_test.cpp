// SPDX-License-Identifier: GPL-2.0-or-later
// Strategies and names of crash states.
#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "states_fixture.h"
#include "tests/states/pm_work.h"

namespace fencepost::states {
namespace {

// Two lines, one of them with two stores, and a fence that guarantees the first.
constexpr std::string_view kTwoLines = R"(
store pmem0+0x40 8 = 1 @a
store pmem0+0x80 8 = 2 @b
store pmem0+0x88 8 = 3 @b
flush clwb pmem0+0x40 @c
fence sfence @c
store pmem0+0x40 8 = 4 @d
)";

TEST_F(States, NoneAndAllAtEachBoundaryAndTheEnd)
{
    EXPECT_EQ(ids(made(kTwoLines), "none-all"), (List{"aea-4-n", "aea-4-a", "aea-6-n", "aea-6-a"}));
    EXPECT_EQ(ids(made(kTwoLines), "all"), (List{"aea-4-a", "aea-6-a"}));
    EXPECT_EQ(ids(made(kTwoLines), "count"), List{});
}

// Behind the marker that ends it, also where that is no boundary or the last event.
TEST_F(States, EverythingWrittenWhenAnOperationHasReturned)
{
    const trace::TraceReader reader = made(R"(
op_begin 1 "first"
store pmem0+0x40 8 = 1 @a
op_end 1
store pmem0+0x40 8 = 2 @b
flush clwb pmem0+0x40 @b
syscall_exit 1 = 0
fence sfence @b
store pmem0+0x80 8 = 3 @c
op_end 2
)");
    EXPECT_EQ(ids(reader, "returns"), (List{"aea-3-a", "aea-6-a", "aea-9-a"}));
    EXPECT_EQ(ids(reader, "durable"), (List{"aea-3-n", "aea-6-n", "aea-9-n"}));
    EXPECT_EQ(ids(reader, "returns,none-all"),
              (List{"aea-2-n", "aea-2-a", "aea-3-a", "aea-5-n", "aea-5-a", "aea-6-a", "aea-6-n",
                    "aea-8-n", "aea-8-a", "aea-9-a", "aea-9-n"}));
    EXPECT_EQ(ids(reader, "returns", {.window = {.last_seq = 5}}), List{"aea-3-a"});
}

TEST_F(States, SubsetsChangeUpToKItemsToEveryLevel)
{
    const WalkOptions first = {.window = {.last_seq = 4}};
    EXPECT_EQ(ids(made(kTwoLines), "subsets:1", first),
              (List{"aea-4-n", "aea-4-n+0.1", "aea-4-n+1.1", "aea-4-n+1.2", "aea-4-a",
                    "aea-4-a+0.0", "aea-4-a+1.0", "aea-4-a+1.1"}));
    const List two = ids(made(kTwoLines), "subsets:2", first);
    EXPECT_EQ(two.size(), 12u); // 2 x 3 states from each end, with one and both items changed
    EXPECT_EQ(std::count(two.begin(), two.end(), "aea-4-n+0.1+1.2"), 1);
    EXPECT_EQ(ids(made(kTwoLines), "subsets:9", first), two);
}

TEST_F(States, ExhaustiveIsAllOfThemOrSaysSo)
{
    WalkOptions options = {.strategies = parse_strategies("exhaustive")};
    WalkReport report;
    const trace::TraceReader reader = made(kTwoLines);
    EXPECT_EQ(walk(reader, options, &report).ids.size(), 6u + 6u);
    EXPECT_EQ(report.legal.exact, 12u);
    EXPECT_EQ(report.capped, 0u);
    options.strategies = parse_strategies("exhaustive:6");
    walk(reader, options, &report);
    EXPECT_EQ(report.capped, 0u);
    options.strategies = parse_strategies("exhaustive:5");
    EXPECT_EQ(walk(reader, options, &report).ids.size(), 5u + 5u);
    EXPECT_EQ(report.capped, 2u);
}

TEST_F(States, AccumulateInTheOrderOfTheFirstStore)
{
    const WalkOptions first = {.window = {.last_seq = 4}};
    EXPECT_EQ(ids(made(kTwoLines), "ReorderAccumulative", first),
              (List{"aea-4-f0", "aea-4-f1", "aea-4-f2"}));
    EXPECT_EQ(ids(made(kTwoLines), "ReorderReverseAccumulative", first),
              (List{"aea-4-b0", "aea-4-b1", "aea-4-b2"}));
    EXPECT_EQ(ids(made(kTwoLines), "ReorderPartial", first).size(), 6u);
    EXPECT_EQ(ids(made(kTwoLines), "NoReorderDoCheck", first), (List{"aea-4-a"}));
    EXPECT_EQ(ids(made(kTwoLines), "NoReorderNoCheck", first), List{});
    EXPECT_EQ(ids(made(kTwoLines), "ReorderFull", first).size(), 6u);
}

TEST_F(States, CombinationsComeInTheOrderGivenAndOnce)
{
    EXPECT_EQ(ids(made(kTwoLines), "none-all,subsets:1,all", {.window = {.last_seq = 4}}),
              (List{"aea-4-n", "aea-4-a", "aea-4-n+0.1", "aea-4-n+1.1", "aea-4-n+1.2",
                    "aea-4-a+0.0", "aea-4-a+1.0", "aea-4-a+1.1"}));
}

// A flush or fence by a new path, with a store since the one before.
TEST_F(States, FailurePoints)
{
    const trace::TraceReader reader = made(R"(
store pmem0+0x40 8 = 1 @a
flush clwb pmem0+0x40 @f ^x      # 1: yes
fence sfence @g ^x               # 2: no store since
store pmem0+0x40 8 = 2 @a
flush clwb pmem0+0x40 @f ^x      # 4: the same path
store pmem0+0x40 8 = 3 @a
flush clwb pmem0+0x40 @f ^y      # 6: another caller
store pmem0+0x40 8 = 4 @a
fence lock_rmw @h ^x             # 8: does not count as a fence
fence sfence @g ^x               # 9: yes
store pmem0+0x40 8 = 5 @a
fence sfence @g ^x<z             # 11: another caller's caller
)");
    EXPECT_EQ(ids(reader, "prefix"), (List{"aea-1-a", "aea-6-a", "aea-9-a", "aea-11-a"}));
    EXPECT_EQ(ids(reader, "prefix", {.fences = model::FenceRule::architectural}),
              (List{"aaa-1-a", "aaa-6-a", "aaa-8-a", "aaa-11-a"}));
}

TEST_F(States, RandomDependsOnTheSeedAlone)
{
    trace::PmWork({.pm_bytes = 1 << 20, .forgetful = true}).write(path(), 3000);
    const trace::TraceReader reader(path());
    const auto levels = [&](std::string_view strategy, std::uint64_t seed, Window window = {}) {
        return walk(reader,
                    {.strategies = parse_strategies(strategy), .seed = seed, .window = window})
            .levels;
    };
    const auto all = levels("random:3", 5);
    EXPECT_EQ(levels("random:3", 5), all);
    // Neither what else is generated nor where the window begins makes a difference.
    const auto is_random = [](const std::string &id) { return id.find("-r") != std::string::npos; };
    unsigned compared = 0;
    for (const auto &[id, of_state] : levels("none-all,random:2", 5, {.first_seq = 1000}))
        if (is_random(id) && all.contains(id)) {
            EXPECT_EQ(all.at(id), of_state) << id;
            ++compared;
        }
    EXPECT_GT(compared, 10u);
    unsigned different = 0;
    unsigned random = 0;
    for (const auto &[id, of_state] : levels("random:3", 6)) {
        if (!is_random(id))
            continue;
        std::string other = id;
        other.replace(other.find("-r6."), 4, "-r5.");
        const auto found = all.find(other);
        different += found == all.end() || found->second != of_state;
        ++random;
    }
    EXPECT_GT(different, random / 2);
}

// Where there are few states, random ones are all of them; else none comes twice.
TEST_F(States, RandomStatesDoNotRepeat)
{
    EXPECT_EQ(ids(made(""), "random:4"), (List{"aea-0-n"}));
    EXPECT_EQ(ids(made(R"(
store pmem0+0x40 8 = 1 @a
store pmem0+0x80 8 = 1 @b
store pmem0+0x80 8 = 2 @c
)"),
                  "random:1"),
              (List{"aea-3-n", "aea-3-n+0.1", "aea-3-n+1.1", "aea-3-n+0.1+1.1", "aea-3-n+1.2",
                    "aea-3-a"}));
    std::string five;
    for (unsigned line = 0; line < 5; ++line) // 32 states
        five += "store pmem0+" + std::to_string(line * 128) + " 8 = 1 @a\n";
    const trace::TraceReader reader = made(five);
    EXPECT_EQ(ids(reader, "random:32").size(), 32u) << "all of them";
    for (const char *strategy : {"random:24", "none-all,random:20", "random:24,none-all"}) {
        const Ids found = walk(reader, {.strategies = parse_strategies(strategy)});
        std::set<std::size_t> persisted; // bit: a line
        for (const auto &[id, levels] : found.levels) {
            std::size_t lines = id == "aea-5-a" ? 31 : 0;
            for (const ItemLevel &each : levels)
                lines |= 1u << each.item;
            persisted.insert(lines);
        }
        EXPECT_GE(found.ids.size(), 22u) << strategy;
        EXPECT_EQ(persisted.size(), found.ids.size()) << strategy;
    }
}

// Every state can be named, found again by its name, and gone on from.
TEST_F(States, ResumeAnywhere)
{
    trace::PmWork({.pm_bytes = 1 << 20, .forgetful = true, .mixed_lines = true})
        .write(path(), 2000);
    const trace::TraceReader reader(path());
    const std::string digits = reader.recording().event_digest.substr(0, 8) + "-";
    const std::string_view strategy = "prefix,none-all,random:2,subsets:1,exhaustive:4,accumulate";
    const List all = ids(reader, strategy);
    ASSERT_GT(all.size(), 300u);
    for (std::size_t at = 0; at < all.size(); at += 37) {
        const CrashState id = parse_crash_state(digits + all[at]);
        EXPECT_EQ(id_of(id), digits + all[at]);
        EXPECT_EQ(ids(reader, strategy, {.after = id}), List(all.begin() + at + 1, all.end()));
        StateWalk alone(reader, options_of(id));
        Ids one;
        one.walk = &alone;
        alone.run_to(id, one);
        EXPECT_EQ(one.ids, List{all[at]});
    }
    EXPECT_THROW(ids(reader, "none-all", {.after = parse_crash_state(digits + "aea-77-n+0.1")}),
                 Error);
}

TEST_F(States, IdsThatAreNone)
{
    for (const char *text :
         {"", "x", "12345678-aea-1-n+", "12345678-aea-1", "12345678-zea-1-n", "1234567-aea-1-n",
          "12345678-aea-1-q", "12345678-aea-1-n+1", "12345678-aea-1-n+2.1+1.1", "12345678-aea-1-r1",
          "12345678-aea-99999999999999999999-n", "12345678-aea-1-n ", "1234567G-aea-1-n",
          "12345678-aea-1-nu", "12345678-aea-1-nw1u2", "12345678-aea-1-u4"})
        EXPECT_THROW(parse_crash_state(text), Error) << text;
    const trace::TraceReader reader = made(kTwoLines);
    const std::string digits = reader.recording().event_digest.substr(0, 8);
    const auto run = [&](const std::string &text) {
        const CrashState id = parse_crash_state(text);
        StateWalk walk(reader, options_of(id));
        Ids ids;
        ids.walk = &walk;
        walk.run_to(id, ids);
        return ids.ids;
    };
    EXPECT_EQ(run(digits + "-aea-4-n+1.2"), List{"aea-4-n+1.2"});
    EXPECT_EQ(run(digits + "-aea-0-a"), List{"aea-0-a"});
    for (const char *rest : {"-aea-4-n+1.3", "-aea-4-n+2.1", "-aea-4-x6", "-aea-4-f3", "-aea-7-n"})
        try {
            run(digits + rest);
            ADD_FAILURE() << rest;
        } catch (const Error &error) {
            EXPECT_EQ(error.kind(), ErrorKind::usage) << error.what();
        }
    try {
        run("00000000-aea-4-n");
        ADD_FAILURE() << "a state of another trace";
    } catch (const Error &error) {
        EXPECT_EQ(error.kind(), ErrorKind::trace);
    }
}

TEST_F(States, StrategiesThatAreNone)
{
    for (const char *text : {"", "none", "subsets", "random", "random:", "random:x", "random:0",
                             "exhaustive:0", "subsets:0", "none-all:3", "prefix,", ",prefix",
                             "subsets:-1", "random:1.5", "random:99999999999999999999"})
        EXPECT_THROW(parse_strategies(text), Error) << text;
    EXPECT_EQ(text_of(parse_strategies("prefix,subsets:2,exhaustive,ReorderPartial")),
              "prefix,subsets:2,exhaustive:65536,random:3");
}

TEST_F(States, TheReferenceHasTheTable)
{
    const std::string page = read_file(FENCEPOST_SOURCE "/docs/reference/strategies.md");
    std::string table;
    for (const StrategyInfo &info : all_strategies()) {
        const char *where = info.points == StrategyPoints::every            ? "every crash point"
                            : info.points == StrategyPoints::failure_points ? "failure points"
                                                                            : "returns";
        table += fmt::format("| `{}{}{}` | {} | {} |\n", info.name,
                             info.argument.empty() ? "" : ":", info.argument, where, info.help);
    }
    EXPECT_NE(page.find("|---|---|---|\n" + table + "\n"), std::string::npos) << table;
}

// mfence where a kernel guards against speculation.
TEST_F(States, IncidentalFencesCountAsLittleAsLockedInstructions)
{
    const trace::TraceReader reader = made(R"(
store pmem0+0x40 8 = 1 @create+1
flush clwb pmem0+0x40 @create+2
fence mfence @strncpy_from_user+8
store pmem0+0x80 8 = 2 @create+3
fence sfence @create+4
)");
    const auto with = [&](const std::vector<std::string> &named) {
        WalkOptions options = {.strategies = parse_strategies("exhaustive")};
        options.incidental = {reader, trace::incidental_functions(named)};
        return options;
    };
    WalkReport report;
    const WalkOptions of_linux = with({});
    const std::string digest = of_linux.incidental.digest();
    ASSERT_EQ(digest.size(), 8u);
    EXPECT_EQ(of_linux.incidental.functions(),
              (std::vector<trace::IncidentalFences::Function>{{"strncpy_from_user", 1}}));
    const Ids found = walk(reader, of_linux, &report);
    EXPECT_EQ(report.incidental_fences, 1u);
    // Both lines are in flight before the sfence, which guarantees the first.
    const std::string prefix = "aea." + digest + "-";
    EXPECT_EQ(found.ids, (List{prefix + "4-x0", prefix + "4-x1", prefix + "4-x2", prefix + "4-x3",
                               prefix + "5-x0", prefix + "5-x1"}));
    // An id names its set, and is good for no other.
    const std::string digits = reader.recording().event_digest.substr(0, 8) + "-";
    const CrashState id = parse_crash_state(digits + found.ids[2]);
    EXPECT_EQ(id_of(id), digits + found.ids[2]);
    EXPECT_NO_THROW(StateWalk(reader, of_linux).check_id(id));
    EXPECT_THROW(StateWalk(reader, with({"none"})).check_id(id), Error);
    const Ids all_count = walk(reader, with({"none"}), &report);
    EXPECT_EQ(report.incidental_fences, 0u);
    EXPECT_EQ(all_count.ids, (List{"aea-2-x0", "aea-2-x1", "aea-5-x0", "aea-5-x1"}));
    EXPECT_EQ(walk(reader, with({"none", "create"}), &report).ids.size(), 2u + 2u);
    EXPECT_EQ(report.incidental_fences, 1u);
}

TEST_F(States, CountsAreExactOrLogarithms)
{
    StateCount sum = {.exact = 0};
    sum.add({.exact = 5, .log2 = 2.32});
    EXPECT_EQ(sum.exact, 5u);
    sum.add({.exact = UINT64_MAX - 1, .log2 = 64});
    EXPECT_EQ(sum.exact, std::nullopt);
    EXPECT_NEAR(sum.log2, 64, 1e-9);
    sum.add({.log2 = 64});
    EXPECT_NEAR(sum.log2, 65, 1e-9);
}

TEST_F(States, TracesThatAreNotComplete)
{
    for (const char *text :
         {"store pmem0+0x40 8 = 1\nrecording running",
          "store pmem0+0x40 8 = 1\nrecording truncated",
          "quality incomplete_lines 3 error \"lines differ\"\nstore pmem0+0x40 8 = 1"})
        try {
            const trace::TraceReader reader = made(text);
            StateWalk walk(reader, {});
            ADD_FAILURE() << text;
        } catch (const Error &error) {
            EXPECT_EQ(error.kind(), ErrorKind::trace) << error.what();
        }
    const trace::TraceReader reader =
        made("quality incomplete_lines 0 error \"lines differ\"\nquality odd 3 warning \"\"\nstore "
             "pmem0+0x40 8 = 1");
    EXPECT_NO_THROW(StateWalk(reader, {}));
}

} // namespace
} // namespace fencepost::states
