// SPDX-License-Identifier: GPL-2.0-or-later
// Which stores decide where another bug makes everything or nothing fail, and whether what is lost
// had been flushed.
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/deciding_fixture.h"

namespace fencepost::test {
namespace {

// One bug makes everything fail, another one nothing.
TEST_F(DecidingStoresTest, BetweenTwoBugsAPassIsAWayIn)
{
    const auto both = [](const auto &has) { return !has(1) || has(4); };
    const auto asked_with = [&](const StateStores &state,
                                const std::vector<std::string> &passing) -> DecidingStores {
        std::vector<Neighbour> passes;
        for (const std::string &choice : passing) {
            const auto id = states::id_of({.trace = "00000000"});
            passes.push_back(
                {states::parse_crash_state(id.substr(0, id.rfind('-') + 1) + choice).choice,
                 state_of(kRecordAndFlag, choice).present});
        }
        const auto found = find_deciding_stores(state, {}, passes, [&](const Neighbour &probe) {
            return said(both([&](std::uint64_t seq) { return holds(state, probe.parts, seq); }));
        });
        EXPECT_TRUE(found);
        return found.value_or(DecidingStores());
    };
    struct {
        const char *choice;
        std::vector<std::string> passes;
        std::optional<std::uint64_t> absent;
        std::optional<std::uint64_t> present;
    } const cases[] = {
        {"n", {"n+1.1"}, 1, {}},
        {"n+3.1", {"n+1.1+3.1"}, 1, {}},
        {"a", {"n+1.1"}, {}, 4},
        {"a+0.0", {"a+4.0"}, {}, 4},
        {"n+1.1+4.1", {"n+1.1"}, {}, 4},
        {"n", {}, 1, {}},
        {"a", {}, {}, 4},
    };
    for (const auto &each : cases) {
        const DecidingStores found = asked_with(state_of(kRecordAndFlag, each.choice), each.passes);
        EXPECT_EQ(seq_of(found.absent), each.absent) << each.choice;
        EXPECT_EQ(seq_of(found.present), each.present) << each.choice;
    }
}

// Whatever is on the way there.
TEST_F(DecidingStoresTest, WhereAnotherBugMakesOneEndFail)
{
    // 0 must not be missing; and the flag (3) needs 2.
    const StateStores state = state_of(kRecordAndFlag, "a+2.0");
    const auto asked = [&](const std::function<Said(const Neighbour &)> &answer) {
        const auto found = find_deciding_stores(
            state, {.base = states::Base::all}, {},
            [&](const Neighbour &probe) { return std::optional(answer(probe)); });
        EXPECT_TRUE(found);
        return found.value_or(DecidingStores());
    };
    const auto has = [&](const Neighbour &probe, std::uint64_t seq) {
        return holds(state, probe.parts, seq);
    };
    const DecidingStores order = asked([&](const Neighbour &probe) {
        return !has(probe, 0) || (has(probe, 3) && !has(probe, 2)) ? Said::fails_alike
                                                                   : Said::passes;
    });
    EXPECT_EQ(seq_of(order.absent), 2u);
    EXPECT_EQ(seq_of(order.present), 3u);
    const DecidingStores absent = asked([&](const Neighbour &probe) {
        const bool alike = !has(probe, 0) || has(probe, 3);
        return has(probe, 2) ? Said::passes : alike ? Said::fails_alike : Said::other;
    });
    EXPECT_EQ(seq_of(absent.absent), 2u);
    EXPECT_FALSE(absent.present) << "what fails in another way is no way in";
    const DecidingStores other_end = asked([&](const Neighbour &probe) {
        return has(probe, 4) || (has(probe, 3) && !has(probe, 2)) ? Said::fails_alike
                                                                  : Said::passes;
    });
    EXPECT_EQ(seq_of(other_end.present), 3u);
    EXPECT_FALSE(other_end.absent) << "the state has that bug too";
}

// What was lost though it was flushed lacks a fence before the flag, or at all.
TEST_F(DecidingStoresTest, WhetherWhatIsLostHadBeenFlushed)
{
    const auto is_flushed = [&](const std::string &text, bool with_flag) {
        const StateStores state = state_of(text, with_flag ? "n+1.1" : "n");
        const auto found = find_deciding_stores(state, {}, {}, [&](const Neighbour &probe) {
            const auto &stores = state.in_flight->stores();
            const bool record = holds(state, probe.parts, stores[0].seq);
            const bool flag = holds(state, probe.parts, stores[1].seq);
            return said(!record && (flag || !with_flag));
        });
        EXPECT_TRUE(found && found->absent && found->present.has_value() == with_flag) << text;
        return found && found->absent_flushed;
    };
    const std::string record = "store pmem0+0x40 8 = 1 @record\n";
    const std::string flush = "flush clwb pmem0+0x40 @flush\n";
    const std::string flag = "store pmem0+0x80 8 = 1 @flag\n";
    EXPECT_FALSE(is_flushed(record + flag, true));
    EXPECT_TRUE(is_flushed(record + flush + flag, true));
    EXPECT_FALSE(is_flushed(record + flag + flush, true)) << "too late";
    EXPECT_TRUE(is_flushed(record + flag + flush, false)) << "nothing but its fence was missing";
    EXPECT_TRUE(is_flushed("nt_store pmem0+0x40 8 = 1 @record\n" + flag, true));
    EXPECT_FALSE(is_flushed(flush + record + flag, true));
}

} // namespace
} // namespace fencepost::test
