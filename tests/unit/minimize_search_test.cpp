// SPDX-License-Identifier: GPL-2.0-or-later
// The search for the smallest difference between a failing and a passing state, against oracles
// that are functions of what persisted.
#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "base/files.h"
#include "replayer/image/in_flight_stores.h"
#include "replayer/test/minimize_search.h"
#include "tests/golden/trace_text.h"
#include "tests/states/image_listener.h"
#include "tests/states/pm_work.h"
#include "tests/states/small_trace_file.h"

namespace fencepost::test {
namespace {

using states::Base;
using states::LevelPath;
using states::Levels;
using states::StateView;

using Seqs = std::set<std::uint64_t>;

// The events whose stores are in PM whole, and those of which a part is missing.
struct Stores {
    Seqs whole;
    Seqs lacking;
};

// A crash point with all that is asked about there.
class Point {
public:
    Point(const StateView &state, image::StateImages &images) : state_(state), images_(images) {}

    const states::ItemTable &table() const { return *state_.items; }
    Levels levels() const { return levels_of(state_); }
    Levels none() const { return levels_of(table(), Base::none); }
    Levels all() const { return levels_of(table(), Base::all); }

    // Under the name that the state has.
    image::Hash128 identity(const Levels &levels) const
    {
        image::Hash128 identity;
        with(levels, [&](const StateView &view) { identity = images_.hash(view); });
        return identity;
    }
    // By where the pieces are: a run is many stores.
    Stores stores(const Levels &levels) const
    {
        Stores found;
        with(levels, [&](const StateView &view) {
            for (const states::Cell &cell : table().cells()) {
                std::vector<std::uint64_t> of_cell;
                for (std::uint32_t i = 0; i < cell.item_count; ++i)
                    of_cell.push_back(level_of(view, cell.first_item + i));
                model::UnitCounts left = table().unit_counts(cell, of_cell);
                table().in_flight().for_each_piece(
                    table().line(cell), [&](const model::Piece &piece) {
                        std::uint32_t &of_unit = left[piece.unit()];
                        (of_unit != 0 ? found.whole : found.lacking).insert(piece.seq);
                        of_unit -= of_unit != 0;
                    });
            }
        });
        for (const std::uint64_t seq : found.lacking)
            found.whole.erase(seq);
        return found;
    }

private:
    template <typename Use> void with(const Levels &levels, Use &&use) const
    {
        const std::string id =
            states::id_of({.trace = "00000000", .choice = states::listed_choice(table(), levels)});
        states::Enumeration(table(), state_.point.seq, 1, [&](const states::ChosenLevels &chosen) {
            use(StateView{state_.point, &table(), chosen});
            return false;
        }).run(states::parse_crash_state(id).choice);
    }

    const StateView &state_;
    image::StateImages &images_;
};

bool has_all(const Seqs &some, const Seqs &wanted)
{
    return std::includes(some.begin(), some.end(), wanted.begin(), wanted.end());
}

// Fails where one set of stores persisted and each of another is missing.
struct Fault {
    Seqs persisted;
    Seqs lost;

    Said of(const Stores &stores) const
    {
        return has_all(stores.whole, persisted) && has_all(stores.lacking, lost) ? Said::fails_alike
                                                                                 : Said::passes;
    }
};

class MinimizeTest : public testing::Test {
protected:
    std::filesystem::path path() const { return directory_.path() / "trace.db"; }

    void walk(const states::WalkOptions &options, const image::Listener::Visit &visit) const
    {
        const trace::TraceReader reader(path());
        const image::InitialImage initial(reader);
        image::Listener listener(initial, visit);
        states::StateWalk(reader, options).run(listener);
    }
    // With the items of the trace's end, and the state of that choice.
    void at_end(const std::string &text, const std::string &choice,
                const std::function<void(const Point &)> &use) const
    {
        golden::write_trace(text, path());
        bool found = false;
        walk({.strategies = states::parse_strategies("none-all,subsets:2")},
             [&](const StateView &state, image::StateImages &images) {
                 if (text_of(state.levels.choice()) == choice && !found) {
                     found = true;
                     use(Point(state, images));
                 }
                 return true;
             });
        EXPECT_TRUE(found) << "no state " << choice;
    }

    const TemporaryDirectory directory_{testing::TempDir(), "minimize"};
};

// The answers of an oracle, counted.
struct Counted {
    const Point &point;
    std::function<Said(const Stores &)> oracle;
    unsigned most = 1000;
    unsigned asked = 0;
    std::set<std::string> identities = {};

    Minimum minimize(const std::vector<Levels> &known = {})
    {
        std::set<Levels> seen;
        return minimize_state(point.table(), point.levels(), known,
                              [&](const Levels &levels) -> std::optional<Said> {
                                  if (asked == most)
                                      return std::nullopt;
                                  ++asked;
                                  EXPECT_TRUE(seen.insert(levels).second) << "asked twice";
                                  identities.insert(point.identity(levels).hex());
                                  return oracle(point.stores(levels));
                              });
    }
};

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
    // Nothing and everything fail: only a state in between passes.
    const auto oracle = [](const Stores &stores) {
        return stores.whole.contains(1) && !stores.whole.contains(4) ? Said::passes
                                                                     : Said::fails_alike;
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
