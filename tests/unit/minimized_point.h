// SPDX-License-Identifier: GPL-2.0-or-later
// A crash point whose states are asked about, and oracles that are functions of what persisted.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/files.h"
#include "replayer/test/minimize_search.h"
#include "tests/golden/trace_text.h"
#include "tests/states/image_listener.h"

namespace fencepost::test {

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

inline bool has_all(const Seqs &some, const Seqs &wanted)
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

} // namespace fencepost::test
