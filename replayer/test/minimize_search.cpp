// SPDX-License-Identifier: GPL-2.0-or-later
// See minimize_search.h.
#include "replayer/test/minimize_search.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "replayer/test/needed_parts.h"

namespace fencepost::test {

using states::Base;
using states::LevelPath;
using states::Levels;

namespace {

class Search {
public:
    Search(const states::ItemTable &table, std::span<const Levels> known_passes,
           const AskState &ask)
        : table_(table), ask_(ask)
    {
        for (const Levels &each : known_passes)
            said_.emplace(each, Said::passes);
    }

    Minimum run(const Levels &failing)
    {
        Minimum found;
        found.reproduced = says(failing, Said::fails_alike);
        found.fewest = found.most = found.failing = failing;
        if (!found.reproduced)
            return found;
        found.fewest = nearest(states::levels_of(table_, Base::none), failing, Said::fails_alike);
        found.most = nearest(states::levels_of(table_, Base::all), found.fewest, Said::fails_alike);
        const Levels all = states::levels_of(table_, Base::all);
        const Levels none = states::levels_of(table_, Base::none);
        found.fails_at_both_ends = !stopped_ && found.most == all && found.fewest == none;
        if (found.fails_at_both_ends)
            look_in_between(none, all);
        find_pair(found, found.fails_at_both_ends ? failing : found.most);
        // Where another failure comes first, nobody knows what the state would have been without.
        found.holds_between = !stopped_ && fails_between(found.fewest, found.most) && !others_;
        found.complete = !stopped_;
        return found;
    }

private:
    struct Pair {
        Levels failing;
        Levels passing;
        std::size_t changes = SIZE_MAX;
    };

    bool says(const Levels &state, Said wanted)
    {
        if (stopped_)
            return false;
        if (const auto known = said_.find(state); known != said_.end())
            return known->second == wanted;
        const std::optional<Said> said = ask_(state);
        stopped_ = !said;
        if (said)
            said_.emplace(state, *said);
        others_ = others_ || said == Said::other;
        return said == wanted;
    }

    // The state nearest to `goal` that says so, of those on ways from there to `from`, which does:
    // without any single one of its changes it would not. When it must stop, the nearest so far.
    Levels nearest(const Levels &goal, const Levels &from, Said wanted)
    {
        const LevelPath path(table_, goal, from);
        Levels state = from;
        find_needed(
            path.changes().size(),
            [&](std::size_t first, std::span<const std::size_t> others) -> std::optional<bool> {
                Levels tried = path.with(first, others);
                const bool enough = says(tried, wanted);
                if (enough)
                    state = std::move(tried);
                return stopped_ ? std::nullopt : std::optional(enough);
            });
        return state;
    }

    // Of what was asked about so far. Of several, the one with most in PM: "all but this" is easier
    // to picture than a few stores of many.
    Pair best_pair(std::span<const Levels> failing) const
    {
        Pair best;
        for (const Levels &fails : failing)
            for (auto each = said_.rbegin(); each != said_.rend(); ++each) {
                if (each->second != Said::passes)
                    continue;
                const std::size_t changes = LevelPath(table_, fails, each->first).changes().size();
                if (changes < best.changes)
                    best = {fails, each->first, changes};
            }
        return best;
    }

    bool some_pass() const
    {
        return std::any_of(said_.begin(), said_.end(),
                           [](const auto &each) { return each.second == Said::passes; });
    }

    // A quarter of the stores, half of them or three quarters, in their order.
    void look_in_between(const Levels &none, const Levels &all)
    {
        const LevelPath path(table_, none, all);
        for (const std::size_t quarters : {2, 1, 3})
            if (!some_pass())
                says(path.with(path.changes().size() * quarters / 4), Said::passes);
    }

    // With `fewest` or that one.
    void find_pair(Minimum &found, const Levels &one)
    {
        const Levels ends[] = {one, found.fails_at_both_ends ? one : found.fewest};
        Pair best = best_pair(ends);
        found.failing = found.most;
        if (best.changes == SIZE_MAX)
            return;
        if (best.changes > 1) {
            best.passing = nearest(best.failing, best.passing, Said::passes);
            best.failing = nearest(best.passing, best.failing, Said::fails_alike);
            best.changes = LevelPath(table_, best.failing, best.passing).changes().size();
        }
        found.failing = best.failing;
        found.passing = best.passing;
        found.changes = best.changes;
    }

    // Two states with every other store of those that should not matter.
    bool fails_between(const Levels &fewest, const Levels &most)
    {
        const LevelPath path(table_, fewest, most);
        const std::size_t count = path.changes().size();
        bool fails = true;
        for (std::size_t first = 0; first < 2 && count >= 2; ++first) {
            std::vector<std::size_t> some;
            for (std::size_t i = first; i < count; i += 2)
                some.push_back(i);
            fails = says(path.with(0, some), Said::fails_alike) && fails;
        }
        return fails;
    }

    const states::ItemTable &table_;
    const AskState &ask_;
    std::map<Levels, Said> said_;
    bool others_ = false; // a state failed otherwise
    bool stopped_ = false;
};

} // namespace

Minimum minimize_state(const states::ItemTable &table, const Levels &failing,
                       std::span<const Levels> known_passes, const AskState &ask)
{
    return Search(table, known_passes, ask).run(failing);
}

} // namespace fencepost::test
