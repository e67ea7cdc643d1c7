// SPDX-License-Identifier: GPL-2.0-or-later
// Strategies of the caller's own.
#include "replayer/states/own_strategy.h"

#include "base/error.h"
#include "tests/unit/states_fixture.h"

namespace fencepost::states {
namespace {

class Chosen : public OwnStrategy {
public:
    explicit Chosen(std::vector<Choice> choices)
        : OwnStrategy("test:chosen"), choices_(std::move(choices))
    {
    }

    void choose(const CrashPoint &point, const ItemTable &items, const Emit &emit) override
    {
        seen.emplace_back(point.seq, items.items().size());
        for (const Choice &choice : choices_)
            going.push_back(emit(choice));
    }

    std::vector<std::pair<std::uint64_t, std::size_t>> seen;
    std::vector<bool> going;

private:
    std::vector<Choice> choices_;
};

constexpr const char *kTwoLines = R"(
store pmem0 8 = 1 @a:1
store pmem0+64 8 = 2 @a:2
flush clwb pmem0 @a:3
fence sfence @a:4
)";

TEST_F(States, OfTheCallersOwn)
{
    const trace::TraceReader reader = made(kTwoLines);
    const auto own =
        std::make_shared<Chosen>(std::vector<Choice>{{},
                                                     {.base = Base::all},
                                                     {.listed = {{1, 1}}},
                                                     {.base = Base::all, .listed = {{1, 0}}},
                                                     {}});
    WalkOptions options = {.strategies = {make_strategy(own)}};
    EXPECT_EQ(text_of(options.strategies), "test:chosen");
    options.window.last_seq = 3;
    const Ids found = walk(reader, options);
    EXPECT_EQ(found.ids, (List{"aea-3-n", "aea-3-a", "aea-3-n+1.1", "aea-3-a+1.0"}))
        << "nothing is there once";
    EXPECT_EQ(own->seen, (std::vector<std::pair<std::uint64_t, std::size_t>>{{3, 2}}));

    // With others, in the order given; what they have generated is not repeated.
    options.strategies.insert(options.strategies.begin(), parse_strategies("none-all").front());
    EXPECT_EQ(walk(reader, options).ids,
              (List{"aea-3-n", "aea-3-a", "aea-3-n+1.1", "aea-3-a+1.0"}));
}

TEST_F(States, ThatTheCrashPointDoesNotHave)
{
    const trace::TraceReader reader = made(kTwoLines);
    for (const ItemLevel &wrong : {ItemLevel{7, 1}, ItemLevel{0, 2}})
        EXPECT_THROW(walk(reader, {.strategies = {make_strategy(std::make_shared<Chosen>(
                                       std::vector<Choice>{{.listed = {wrong}}}))}}),
                     Error);
}

TEST_F(States, OfTheCallersOwnEndWithTheWalk)
{
    const trace::TraceReader reader = made(kTwoLines);
    const auto own = std::make_shared<Chosen>(
        std::vector<Choice>{{.base = Base::all}, {.listed = {{1, 1}}}, {.listed = {{0, 1}}}});
    StateWalk walk(reader, {.strategies = {make_strategy(own)}});
    Ids ids;
    ids.walk = &walk;
    ids.limit = 2;
    EXPECT_TRUE(walk.run(ids).stopped);
    EXPECT_EQ(ids.ids.size(), 2u);
    EXPECT_EQ(own->going, (std::vector<bool>{true, false, false}));
}

} // namespace
} // namespace fencepost::states
