// SPDX-License-Identifier: GPL-2.0-or-later
// What is in flight as values, and the stores among it that decide.
#include <cmath>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "tests/states/pm_work.h"
#include "tests/states/small_trace_file.h"
#include "tests/unit/deciding_fixture.h"

namespace fencepost::test {
namespace {

using image::LineContent;

// The identity of the guaranteed image with these parts over it.
image::Hash128 identity_of(const InFlightStores &stores, const PartChoice &parts,
                           StateImages &images)
{
    image::Hash128 sum = images.images().guaranteed().hash();
    for (const LineContent &line : stores.lines(parts, [&](std::uint64_t number) {
             return images.images().guaranteed().line(number);
         }))
        sum += image::line_hash(line.line, line.bytes.data()) -
               image::line_hash(line.line, images.images().guaranteed().line(line.line));
    return sum;
}

// The same, made from the choice's name alone.
image::Hash128 identity_by_name(const states::Choice &choice, const StateView &state,
                                StateImages &images)
{
    const std::string id = states::id_of({.trace = "00000000", .choice = choice});
    image::Hash128 identity;
    states::Enumeration enumeration(*state.items, state.point.seq, 1,
                                    [&](const states::ChosenLevels &levels) {
                                        identity = images.hash({state.point, state.items, levels});
                                        return true;
                                    });
    enumeration.run(states::parse_crash_state(id).choice);
    return identity;
}

std::vector<std::uint64_t> first_of_each_site(const StateStores &state, bool present)
{
    std::set<trace::SiteId> seen;
    std::vector<std::uint64_t> found;
    for (const trace::EventRef &store :
         first_of_each_kind(state, present, [&](const trace::EventRef &each) {
             return seen.insert(each.site).second;
         }))
        found.push_back(store.seq);
    return found;
}

TEST_F(DecidingStoresTest, WhatAStateLacksAndHas)
{
    golden::write_trace(R"(
store pmem0+0x40 8 = 1 @a
store pmem0+0x40 8 = 2 @b
store pmem0+0x80 8 = 3 @c
nt_store pmem0+0xc0 16 = *7 @d
store pmem0+0x100 8 = 5 @a
)",
                        path());
    std::map<std::string, std::vector<std::uint64_t>> missing;
    std::map<std::string, std::vector<std::uint64_t>> present;
    walk({.strategies = states::parse_strategies("none-all,subsets:1")},
         [&](const StateView &state, StateImages &) {
             const StateStores stores = stores_of(state);
             missing[text_of(state.levels.choice())] = first_of_each_site(stores, false);
             present[text_of(state.levels.choice())] = first_of_each_site(stores, true);
             return true;
         });
    using Seqs = std::vector<std::uint64_t>;
    EXPECT_EQ(missing.at("n"), (Seqs{0, 1, 2, 3})) << "event 4 is of a site that came before";
    EXPECT_EQ(present.at("n"), Seqs{});
    EXPECT_EQ(missing.at("a"), Seqs{});
    EXPECT_EQ(present.at("a"), (Seqs{0, 1, 2, 3}));
    EXPECT_EQ(missing.at("n+0.1"), (Seqs{1, 2, 3, 4}));
    EXPECT_EQ(present.at("n+0.1"), Seqs{0});
    EXPECT_EQ(missing.at("n+0.2"), (Seqs{2, 3, 4}));
    EXPECT_EQ(missing.at("a+0.1"), Seqs{1});
    EXPECT_EQ(missing.at("a+2.0"), Seqs{3}) << "half of it";
    EXPECT_EQ(present.at("a+2.0"), (Seqs{0, 1, 2, 3})) << "the other half";
    EXPECT_EQ(missing.at("a+4.0"), Seqs{4});
}

// Whatever the search asks about is a state that the model allows at that crash point.
TEST_F(DecidingStoresTest, EveryProbeIsALegalState)
{
    model::SmallTraces source(7);
    std::uint64_t probes = 0;
    for (unsigned round = 0; round < 40; ++round) {
        trace::write_small_trace(path(), source.next());
        for (const model::ModelKind kind :
             {model::ModelKind::adr, model::ModelKind::eadr, model::ModelKind::line}) {
            const states::WalkOptions options = {.model = kind,
                                                 .strategies =
                                                     states::parse_strategies("exhaustive:1048576"),
                                                 .grouping = states::Grouping::off};
            std::map<std::uint64_t, std::set<std::string>> legal; // by crash point
            walk(options, [&](const StateView &state, StateImages &images) {
                legal[state.point.seq].insert(images.hash(state).hex());
                return true;
            });
            walk(options, [&](const StateView &state, StateImages &images) {
                const StateStores stores = stores_of(state);
                EXPECT_EQ(identity_of(*stores.in_flight, stores.present, images),
                          images.hash(state));
                for (const bool answer : {false, true})
                    find_deciding_stores(
                        stores, state.levels.choice(), {}, [&](const Neighbour &probe) {
                            ++probes;
                            const image::Hash128 identity =
                                identity_of(*stores.in_flight, probe.parts, images);
                            EXPECT_TRUE(legal[state.point.seq].contains(identity.hex()))
                                << "round " << round << ", before event " << state.point.seq;
                            EXPECT_EQ(identity_by_name(probe.choice, state, images), identity)
                                << text_of(probe.choice);
                            return said(answer == (probes % 2 == 0));
                        });
                return !HasFailure();
            });
            ASSERT_FALSE(HasFailure());
        }
    }
    EXPECT_GT(probes, 5000u);
}

// Long traces, with runs that are one store, lines of both kinds and two CPUs.
TEST_F(DecidingStoresTest, PartsMakeTheImagesOfTheirStates)
{
    trace::PmWork(
        {.pm_bytes = 1 << 20, .data_pages = 2, .forgetful = true, .mixed_lines = true, .vcpus = 2},
        5)
        .write(path(), 20000);
    std::uint64_t in_runs = 0;
    std::uint64_t probes = 0;
    std::uint64_t states = 0;
    walk({.strategies = states::parse_strategies("none-all,random:3")},
         [&](const StateView &state, StateImages &images) {
             const StateStores stores = stores_of(state);
             EXPECT_EQ(identity_of(*stores.in_flight, stores.present, images), images.hash(state));
             std::vector<unsigned> parts(stores.in_flight->stores().size());
             for (const image::InFlightPart &part : stores.in_flight->parts())
                 in_runs += ++parts[part.store] == 16;
             std::vector<unsigned> in_state(parts.size());
             for (std::size_t i = 0; i < stores.present.size(); ++i)
                 in_state[stores.in_flight->parts()[i].store] += stores.present[i];
             // In every probe a run is whole or not there, or torn where the state has it torn.
             find_deciding_stores(stores, state.levels.choice(), {}, [&](const Neighbour &probe) {
                 std::vector<unsigned> there(parts.size());
                 for (std::size_t i = 0; i < probe.parts.size(); ++i)
                     there[stores.in_flight->parts()[i].store] += probe.parts[i];
                 EXPECT_EQ(identity_by_name(probe.choice, state, images),
                           identity_of(*stores.in_flight, probe.parts, images))
                     << text_of(probe.choice);
                 for (std::size_t i = 0; i < parts.size(); ++i)
                     EXPECT_TRUE(parts[i] < 16 || there[i] == 0 || there[i] == parts[i] ||
                                 there[i] == in_state[i]);
                 return said(++probes % 3 == 0);
             });
             EXPECT_TRUE(std::is_sorted(
                 stores.in_flight->stores().begin(), stores.in_flight->stores().end(),
                 [](const trace::EventRef &a, const trace::EventRef &b) { return a.seq < b.seq; }));
             ++states;
             return !HasFailure();
         });
    EXPECT_GT(states, 100u);
    EXPECT_GT(in_runs, 10u) << "the trace has no runs";
}

struct Case {
    const char *what;
    const char *choice;
    std::function<bool(const std::function<bool(std::uint64_t)> &has)> fails;
    std::optional<std::uint64_t> absent;
    std::optional<std::uint64_t> present;
};

TEST_F(DecidingStoresTest, AreThoseThatMakeTheDifference)
{
    const auto flag_alone = [](const auto &has) { return has(3) && !(has(0) && has(1) && has(2)); };
    const std::vector<Case> cases = {
        {"the flag without the record", "n+3.1", flag_alone, 2, 3},
        {"the flag and half of the record", "n+0.1+3.1", flag_alone, 2, 3},
        {"without the middle of it", "a+1.0", flag_alone, 1, 3},
        {"durable by now, and missing", "n", [](const auto &has) { return !has(0); }, 0, {}},
        {"must not be there", "a", [](const auto &has) { return has(4); }, {}, 4},
        {"two that must not be there",
         "a+0.0",
         [](const auto &has) { return has(1) && has(4); },
         {},
         4},
        {"two, the later in a line from before",
         "a",
         [](const auto &has) { return has(4) && has(5); },
         {},
         5},
        {"wrong before", "n+2.1", [](const auto &) { return true; }, {}, {}},
    };
    for (const Case &each : cases) {
        const StateStores state = state_of(kRecordAndFlag, each.choice);
        const auto fails = [&](const Neighbour &probe) {
            return said(
                each.fails([&](std::uint64_t seq) { return holds(state, probe.parts, seq); }));
        };
        ASSERT_EQ(fails({{}, state.present}), Said::fails_alike) << each.what;
        const auto found = find_deciding_stores(state, {}, {}, fails);
        ASSERT_TRUE(found) << each.what;
        EXPECT_EQ(seq_of(found->absent), each.absent) << each.what;
        EXPECT_EQ(seq_of(found->present), each.present) << each.what;
    }
}

TEST_F(DecidingStoresTest, AsksFewQuestionsAndGivesUpWithoutAnswers)
{
    std::string text;
    constexpr unsigned kStores = 1000;
    for (unsigned i = 0; i < kStores; ++i)
        text += fmt::format("store pmem0+{:#x} 8 = 1 @f{}\n", i * 64, i);
    const StateStores state = state_of(text, "n+600.1");
    unsigned asked = 0;
    const auto fails = [&](const Neighbour &probe) {
        ++asked;
        return said(holds(state, probe.parts, 600) && !holds(state, probe.parts, 345));
    };
    const auto found = find_deciding_stores(state, {}, {}, fails);
    ASSERT_TRUE(found);
    EXPECT_EQ(seq_of(found->absent), 345u);
    EXPECT_EQ(seq_of(found->present), 600u);
    EXPECT_LE(asked, 2 + 2 * std::ceil(std::log2(kStores)));

    const unsigned needed = asked;
    for (unsigned answers = 0; answers < needed; ++answers) {
        asked = 0;
        EXPECT_FALSE(find_deciding_stores(state, {}, {},
                                          [&](const Neighbour &probe) {
                                              return asked == answers ? std::optional<Said>()
                                                                      : fails(probe);
                                          }))
            << answers << " answers";
        EXPECT_EQ(asked, answers);
    }
}

} // namespace
} // namespace fencepost::test
