// SPDX-License-Identifier: GPL-2.0-or-later
// The search for the smallest difference between a failing and a passing state, against oracles
// that are functions of what persisted.
#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "replayer/image/in_flight_stores.h"
#include "tests/states/pm_work.h"
#include "tests/states/small_trace_file.h"
#include "tests/unit/minimized_point.h"

namespace fencepost::test {
namespace {

using states::LevelPath;
using states::Levels;
using states::StateView;

// What a result says about an oracle must be so.
void expect_true(const Point &point, const Minimum &found, const Fault &fault)
{
    const auto says = [&](const Levels &levels) { return fault.of(point.stores(levels)); };
    EXPECT_TRUE(found.reproduced && found.complete && found.holds_between);
    for (const Levels *each : {&found.fewest, &found.most, &found.failing})
        EXPECT_EQ(says(*each), Said::fails_alike);
    const bool some_pass = says(point.none()) == Said::passes || says(point.all()) == Said::passes;
    ASSERT_EQ(found.passing.has_value(), some_pass);
    if (found.passing) {
        EXPECT_EQ(says(*found.passing), Said::passes);
        EXPECT_EQ(LevelPath(point.table(), *found.passing, found.failing).changes().size(),
                  found.changes);
    }
    for (const auto &[goal, state] :
         {std::pair(point.none(), found.fewest), std::pair(point.all(), found.most)}) {
        const LevelPath path(point.table(), goal, state);
        for (std::size_t out = 0; out < path.changes().size(); ++out) {
            std::vector<std::size_t> others;
            for (std::size_t i = 0; i < path.changes().size(); ++i)
                if (i != out)
                    others.push_back(i);
            const Levels less = path.with(0, others);
            if (less != state) {
                EXPECT_EQ(says(less), Said::passes) << "not needed: " << out;
            }
        }
    }
}

// A record (events 0, 1, 2), a flag that says that it is there (3), something else (4), and
// something in a line that was written before (5).
constexpr const char *kRecordAndFlag = R"(
store pmem0+0x40 8 = 1 @head
store pmem0+0x80 8 = 2 @middle
store pmem0+0xc0 8 = 3 @tail
store pmem0+0x100 8 = 4 @flag
store pmem0+0x140 8 = 5 @other
store pmem0+0x48 8 = 6 @late
)";

struct Case {
    const char *what;
    const char *choice;
    Fault fault;
    Seqs fewest_persisted;
    Seqs most_lost;
    std::uint64_t changes;
};

TEST_F(MinimizeTest, FindsWhatMustPersistAndWhatMustBeLost)
{
    const std::vector<Case> cases = {
        {"the flag without the tail", "n+3.1", {{3}, {2}}, {3}, {2}, 1},
        {"from among others", "a+2.0", {{3}, {2}}, {3}, {2}, 1},
        {"lost, whatever persisted", "n", {{}, {1}}, {}, {1}, 1},
        {"lost together", "n+3.1+4.1", {{}, {1, 2}}, {}, {1, 2}, 1},
        {"persisted, whatever is lost", "a", {{4}, {}}, {4}, {}, 1},
        {"persisted together", "a", {{1, 4}, {}}, {1, 4}, {}, 1},
        {"late in its line, and what was stored there before", "a+1.0", {{5}, {1}}, {0, 5}, {1}, 1},
        {"lost early, and what was stored there later", "n+3.1", {{3}, {0}}, {3}, {0, 5}, 2},
        {"always", "n+3.1", {{}, {}}, {}, {}, 0},
    };
    for (const Case &each : cases) {
        SCOPED_TRACE(each.what);
        at_end(kRecordAndFlag, each.choice, [&](const Point &point) {
            Counted counted{point, [&](const Stores &stores) { return each.fault.of(stores); }};
            const Minimum found = counted.minimize();
            EXPECT_EQ(point.stores(found.fewest).whole, each.fewest_persisted);
            EXPECT_EQ(point.stores(found.most).lacking, each.most_lost);
            EXPECT_LE(found.changes, each.changes);
            expect_true(point, found, each.fault);
            EXPECT_LE(counted.asked, 20u);
        });
    }
}

TEST_F(MinimizeTest, AFailureOfAnotherKindIsNeitherNeighbour)
{
    // With the flag alone it fails; with the flag and the record's head, in another way.
    const auto oracle = [](const Stores &stores) {
        if (!stores.whole.contains(3) || has_all(stores.whole, {0, 1, 2}))
            return Said::passes;
        return stores.whole.contains(0) ? Said::other : Said::fails_alike;
    };
    at_end(kRecordAndFlag, "n+3.1", [&](const Point &point) {
        const Minimum found = Counted{point, oracle}.minimize();
        ASSERT_TRUE(found.passing);
        EXPECT_EQ(oracle(point.stores(found.failing)), Said::fails_alike);
        EXPECT_EQ(oracle(point.stores(*found.passing)), Said::passes);
        EXPECT_EQ(found.changes, 1u);
    });
}

TEST_F(MinimizeTest, SaysWhenItDoesNotHoldBetween)
{
    // Not monotone: one of two stores without the other saves it.
    const auto oracle = [](const Stores &stores) {
        const bool saved = stores.whole.contains(1) != stores.whole.contains(2);
        return stores.whole.contains(3) && !saved ? Said::fails_alike : Said::passes;
    };
    at_end(kRecordAndFlag, "n+3.1", [&](const Point &point) {
        const Minimum found = Counted{point, oracle}.minimize();
        EXPECT_TRUE(found.complete);
        EXPECT_FALSE(found.holds_between);
        ASSERT_TRUE(found.passing);
        EXPECT_EQ(oracle(point.stores(found.failing)), Said::fails_alike);
        EXPECT_EQ(oracle(point.stores(*found.passing)), Said::passes);
    });
}

TEST_F(MinimizeTest, APassThatIsKnownIsUsedAndNotAskedFor)
{
    // Nothing and everything fail, and what persists in the order of the stores.
    const auto oracle = [](const Stores &stores) {
        const auto has = [&](std::uint64_t seq) { return stores.whole.contains(seq); };
        return has(1) && !has(0) && !has(4) ? Said::passes : Said::fails_alike;
    };
    at_end(kRecordAndFlag, "n+4.1", [&](const Point &point) {
        EXPECT_FALSE((Counted{point, oracle}.minimize().passing));
        const Levels known = {0, 1, 1, 0, 0};
        ASSERT_EQ(oracle(point.stores(known)), Said::passes);
        Counted counted{point, oracle};
        const Minimum found = counted.minimize({known});
        ASSERT_TRUE(found.passing);
        EXPECT_EQ(found.changes, 1u);
        EXPECT_FALSE(counted.identities.contains(point.identity(known).hex()));
    });
}

TEST_F(MinimizeTest, StopsWhenNoMoreMayBeAsked)
{
    const Fault fault = {{3}, {1}};
    const auto oracle = [&](const Stores &stores) { return fault.of(stores); };
    unsigned needed = 0;
    at_end(kRecordAndFlag, "n+3.1", [&](const Point &point) {
        Counted counted{point, oracle};
        EXPECT_TRUE(counted.minimize().complete);
        needed = counted.asked;
    });
    for (unsigned most = 0; most <= needed; ++most)
        at_end(kRecordAndFlag, "n+3.1", [&](const Point &point) {
            Counted counted{point, oracle, most};
            const Minimum found = counted.minimize();
            EXPECT_EQ(counted.asked, most);
            EXPECT_EQ(found.complete, most == needed);
            EXPECT_EQ(found.reproduced, most != 0);
            if (found.reproduced) {
                EXPECT_EQ(fault.of(point.stores(found.failing)), Said::fails_alike);
            }
            if (found.passing) {
                EXPECT_EQ(fault.of(point.stores(*found.passing)), Said::passes);
            }
        });
}

// Whatever is asked about is a state that the model allows at that crash point.
TEST_F(MinimizeTest, EveryStateThatIsAskedAboutIsLegal)
{
    model::SmallTraces source(11);
    std::uint64_t asked = 0;
    for (unsigned round = 0; round < 25; ++round) {
        trace::write_small_trace(path(), source.next());
        for (const model::ModelKind kind :
             {model::ModelKind::adr, model::ModelKind::eadr, model::ModelKind::line})
            for (const states::Grouping grouping : {states::Grouping::off, states::Grouping::run}) {
                const auto with = [&](states::Grouping grouped) {
                    return states::WalkOptions{.model = kind,
                                               .strategies =
                                                   states::parse_strategies("exhaustive:65536"),
                                               .grouping = grouped};
                };
                std::map<std::uint64_t, std::set<std::string>> legal; // by crash point
                walk(with(states::Grouping::off),
                     [&](const StateView &state, image::StateImages &images) {
                         legal[state.point.seq].insert(images.hash(state).hex());
                         return true;
                     });
                walk(with(grouping), [&](const StateView &state, image::StateImages &images) {
                    const Point point(state, images);
                    // The first time is about the failing state itself.
                    Counted counted{point, [&](const Stores &) {
                                        return asked++ % 3 == 0 ? Said::passes : Said::fails_alike;
                                    }};
                    counted.minimize();
                    for (const std::string &identity : counted.identities)
                        EXPECT_TRUE(legal[state.point.seq].contains(identity))
                            << "round " << round << ", before event " << state.point.seq;
                    return !HasFailure();
                });
                ASSERT_FALSE(HasFailure());
            }
    }
    EXPECT_GT(asked, 5000u);
}

// One bug makes everything fail, another one nothing: what is between tells, about the state that
// was asked for.
TEST_F(MinimizeTest, BetweenTwoBugs)
{
    const auto fails = [](const Stores &stores) {
        return stores.whole.contains(1) && !stores.whole.contains(4) ? Said::passes
                                                                     : Said::fails_alike;
    };
    for (const bool known : {false, true})
        for (const char *choice : {"n+3.1", "a+0.0"})
            at_end(kRecordAndFlag, choice, [&](const Point &point) {
                Counted counted{point, fails};
                std::vector<Levels> passes;
                if (known) {
                    const LevelPath path(point.table(), point.none(), point.all());
                    passes.push_back(path.with(4));
                }
                const Minimum found = counted.minimize(passes);
                EXPECT_TRUE(found.complete && found.fails_at_both_ends && !found.holds_between);
                EXPECT_EQ(found.changes, 1u) << choice;
                ASSERT_TRUE(found.passing) << choice;
                EXPECT_EQ(fails(point.stores(*found.passing)), Said::passes);
                EXPECT_EQ(fails(point.stores(found.failing)), Said::fails_alike);
                const LevelPath path(point.table(), *found.passing, found.failing);
                ASSERT_EQ(path.changes().size(), 1u);
                EXPECT_EQ(path.changes()[0].seq, choice[0] == 'n' ? 1u : 4u) << choice;
                EXPECT_EQ(path.changes()[0].persists, choice[0] == 'a');
            });
}

// Long traces, with runs that tear, lines of both kinds and two CPUs; and what it costs.
TEST_F(MinimizeTest, CostsFewQuestions)
{
    trace::PmWork(
        {.pm_bytes = 1 << 20, .data_pages = 2, .forgetful = true, .mixed_lines = true, .vcpus = 2},
        5)
        .write(path(), 8000);
    std::mt19937_64 random(3);
    std::uint64_t asked = 0;
    std::uint64_t searches = 0;
    std::size_t longest = 0;
    walk({.strategies = states::parse_strategies("random:3,torn")},
         [&](const StateView &state, image::StateImages &images) {
             const Point point(state, images);
             const Stores stores = point.stores(point.levels());
             const auto one_of = [&](const Seqs &seqs) {
                 return seqs.empty() ? Seqs{}
                                     : Seqs{*std::next(seqs.begin(),
                                                       static_cast<long>(random() % seqs.size()))};
             };
             const Fault fault = {one_of(stores.whole), one_of(stores.lacking)};
             Counted counted{point, [&](const Stores &each) { return fault.of(each); }};
             const Minimum found = counted.minimize();
             expect_true(point, found, fault);
             const double log2 =
                 std::log2(static_cast<double>(stores.whole.size() + stores.lacking.size()) + 1);
             EXPECT_LE(counted.asked, 8 * (log2 + 3));
             longest = std::max(longest, stores.whole.size() + stores.lacking.size());
             asked += counted.asked;
             ++searches;
             return !HasFailure();
         });
    EXPECT_GT(searches, 50u);
    EXPECT_GT(longest, 100u);
    EXPECT_LE(asked, searches * 30);
    RecordProperty("asked_a_search", static_cast<int>(asked / searches));
}

} // namespace
} // namespace fencepost::test
