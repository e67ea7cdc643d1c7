// SPDX-License-Identifier: GPL-2.0-or-later
// The order in which a test takes crash points, and that each comes in one turn.
#include "replayer/states/crash_turns.h"

#include <algorithm>

#include "states_fixture.h"

namespace fencepost::states {
namespace {

const std::vector<std::string> kOwn = {"/usr/local/bin/map"};

// A long call of a library, three kinds of things that the program does by itself, and a kernel.
std::string program()
{
    std::string text = R"(
function main module=/usr/local/bin/map user=1
function insert module=/usr/local/bin/map user=1
function create module=/lib/liba.so user=1
function persist module=/lib/liba.so user=1
)";
    for (int i = 0; i < 40; ++i) // events 0 to 79
        text += "store pmem0+0x40 8 = " + std::to_string(i) +
                " @create ^main\nflush clflush pmem0+0x40 @create ^main\n";
    text += R"(
store pmem0+0x1000 8 = 1 @allocate
flush clflush pmem0+0x1000 @allocate
store pmem0+0x80 8 = 7 @insert ^main
flush clflush pmem0+0x80 @persist ^insert<main
store pmem0+0xc0 8 = 7 @insert+0x10 ^main
flush clflush pmem0+0xc0 @persist ^insert<main
store pmem0+0x2000 8 = 1 @allocate
flush clflush pmem0+0x2000 @allocate
store pmem0+0x3000 8 = 1 @allocate
flush clflush pmem0+0x3000 @allocate
store pmem0+0x4000 8 = 1 @allocate
flush clflush pmem0+0x4000 @allocate
)";
    return text;
}

List in_turn(const trace::TraceReader &reader, const std::vector<Span> &turn)
{
    WalkOptions options = {.strategies = parse_strategies("all")};
    options.turn = turn;
    Ids ids;
    StateWalk walk(reader, options);
    ids.walk = &walk;
    walk.run(ids);
    return ids.ids;
}

using CrashTurns = States;

TEST_F(CrashTurns, WhatTheUsersCodeDoesComesFirst)
{
    const trace::TraceReader reader = made(program());
    const auto turns = crash_turns(reader, {.strategies = parse_strategies("all")}, kOwn);
    ASSERT_EQ(turns.size(), 4u);
    // The first two of the long call, and two behind each thing that the program does.
    EXPECT_EQ(in_turn(reader, turns[0]),
              (List{"aea-1-a", "aea-3-a", "aea-83-a", "aea-85-a", "aea-87-a", "aea-89-a"}));
    // Eight more of the call, then the rest of it, then what no code of the user's is part of.
    EXPECT_EQ(in_turn(reader, turns[1]).size(), 8u);
    EXPECT_EQ(in_turn(reader, turns[1]).front(), "aea-5-a");
    EXPECT_EQ(in_turn(reader, turns[2]).size(), 30u);
    EXPECT_EQ(in_turn(reader, turns[3]), (List{"aea-81-a", "aea-91-a", "aea-92-a"}));
}

TEST_F(CrashTurns, NothingToPrefer)
{
    const trace::TraceReader reader = made(program());
    const WalkOptions all = {.strategies = parse_strategies("all")};
    EXPECT_TRUE(crash_turns(reader, all, {}).empty());
    EXPECT_TRUE(crash_turns(reader, all, {"/usr/local/bin/other"}).empty());
    EXPECT_TRUE(crash_turns(made("store pmem0+0x40 8 = 1\n"), all, kOwn).empty());
}

// With strategies that look everywhere, at failure points and at returns alone.
TEST_F(CrashTurns, TogetherTheyAreTheWholeWalk)
{
    const trace::TraceReader reader = made(program() + R"(
op_begin 1 "put"
store pmem0+0x100 8 = 1 @insert ^main
flush clwb pmem0+0x100 @persist ^insert<main
op_end 1
fence sfence @persist ^insert<main
)");
    for (const char *strategy : {"none-all", "prefix", "returns", "returns,prefix,none-all"})
        for (const char *window : {"", "seq:60-86"}) {
            WalkOptions options = {.strategies = parse_strategies(strategy)};
            if (*window)
                options.window = parse_window(window, reader);
            WalkReport whole;
            List expected = walk(reader, options, &whole).ids;
            List got;
            WalkReport sum;
            for (const std::vector<Span> &turn : crash_turns(reader, options, kOwn)) {
                options.turn = turn;
                WalkReport report;
                const List ids = walk(reader, options, &report).ids;
                got.insert(got.end(), ids.begin(), ids.end());
                sum.add(report);
            }
            std::sort(got.begin(), got.end());
            std::sort(expected.begin(), expected.end());
            EXPECT_EQ(got, expected) << strategy << " " << window;
            EXPECT_EQ(sum.epochs, whole.epochs);
            EXPECT_EQ(sum.generated, whole.generated);
            EXPECT_EQ(sum.crash_points, whole.crash_points);
            EXPECT_EQ(sum.failure_points, whole.failure_points);
            EXPECT_EQ(sum.legal.exact, whole.legal.exact);
        }
}

} // namespace
} // namespace fencepost::states
