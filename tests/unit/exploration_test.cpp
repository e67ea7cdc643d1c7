// SPDX-License-Identifier: GPL-2.0-or-later
// Which states are tested, with and without strategies that the user names.
#include "replayer/test/exploration.h"

#include <gtest/gtest.h>

namespace fencepost::test {
namespace {

using oracle::UserOracle;
using states::Tearing;

struct Case {
    std::optional<run::Promise> promise; // nothing: no oracle compares trees
    UserOracle users;
    const char *strategies;
    Tearing tearing;
};

run::Promise with_bytes(run::Promise promise, run::BytePromise bytes)
{
    promise.bytes = bytes;
    return promise;
}

constexpr auto kNone = UserOracle::none;
constexpr auto kPlain = UserOracle::plain;
constexpr auto kProgress = UserOracle::progress;

const Case kCases[] = {
    {run::kFsync, kNone, "prefix,none-all,random:4", Tearing::sampled},
    {run::kSync, kNone, "returns,prefix,none-all,random:4", Tearing::sampled},
    {run::kStrict, kNone, "returns,prefix,none-all,torn,random:4", Tearing::all},
    {with_bytes(run::kFsync, run::BytePromise::atomic), kNone, "prefix,none-all,torn,random:4",
     Tearing::all},
    {with_bytes(run::kSync, run::BytePromise::any), kNone, "returns,prefix,none-all,random:4",
     Tearing::sampled},
    // What an oracle of the user's thinks of a torn write is not known.
    {run::kFsync, kPlain, "prefix,none-all,torn,random:4", Tearing::all},
    {run::kSync, kPlain, "returns,prefix,none-all,torn,random:4", Tearing::all},
    {std::nullopt, kPlain, "prefix,none-all,torn,random:4", Tearing::all},
    // It may expect what has returned.
    {std::nullopt, kProgress, "returns,prefix,none-all,torn,random:4", Tearing::all},
    {run::kFsync, kProgress, "returns,prefix,none-all,torn,random:4", Tearing::all},
    // A checker alone.
    {std::nullopt, kNone, "prefix,none-all,torn,random:4", Tearing::all},
};

TEST(Exploration, SuitsWhoeverJudges)
{
    for (const Case &each : kCases) {
        std::optional<run::ChosenPromise> promise;
        if (each.promise)
            promise = {*each.promise, run::name_of(*each.promise), "a test"};
        const Exploration chosen = choose_exploration({}, promise, each.users);
        const std::string name = promise ? promise->name : "no promise";
        EXPECT_EQ(states::text_of(chosen.strategies), each.strategies) << name;
        EXPECT_EQ(chosen.tearing, each.tearing) << name;
    }
}

// All of it, also where a torn write is legal.
TEST(Exploration, IsWhatTheUserNames)
{
    const auto named = states::parse_strategies("torn,subsets:1");
    const run::ChosenPromise promise = {run::kFsync, "fsync", "a test"};
    const Exploration chosen = choose_exploration(named, promise, UserOracle::none);
    EXPECT_EQ(chosen.strategies, named);
    EXPECT_EQ(chosen.tearing, Tearing::all);
}

} // namespace
} // namespace fencepost::test
