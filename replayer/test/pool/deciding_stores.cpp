// SPDX-License-Identifier: GPL-2.0-or-later
// See deciding_stores.h.
#include "replayer/test/pool/deciding_stores.h"

#include <algorithm>
#include <set>
#include <vector>

#include "base/error.h"

namespace fencepost::test {

using image::PartChoice;
using image::StateStores;
using states::Choice;

namespace {

// Stores of which a part is there (or not), in order, one for each event: a wide one may be part of
// a run and stand beside it too.
std::vector<trace::EventRef> stores_with(const StateStores &state, bool present)
{
    std::vector<bool> has(state.in_flight->stores().size());
    const auto parts = state.in_flight->parts();
    for (std::size_t i = 0; i < parts.size(); ++i)
        if (state.present[i] == present)
            has[parts[i].store] = true;
    std::vector<trace::EventRef> found;
    for (std::uint32_t store = 0; store < has.size(); ++store)
        if (const trace::EventRef &event = state.in_flight->stores()[store];
            has[store] && (found.empty() || found.back().seq != event.seq))
            found.push_back(event);
    return found;
}

// A row of states, each with one store more than the one before: from nothing to what the state
// has, or from that to everything in flight.
class Ladder {
public:
    Ladder(const StateStores &state, const Choice &choice, bool present, const AskNeighbour &ask)
        : state_(state), choice_(choice), present_(present), ask_(ask),
          stores_(stores_with(state, present))
    {
    }

    std::size_t height() const { return stores_.size(); }
    const trace::EventRef &store(std::size_t rung) const { return stores_[rung - 1]; }

    // Whether the state with the first `rung` of the stores, and without the others, fails alike.
    std::optional<bool> fails(std::size_t rung) const
    {
        const std::optional<Said> said = ask(rung);
        return said ? std::optional(said == Said::fails_alike) : std::nullopt;
    }
    std::optional<Said> ask(std::size_t rung) const
    {
        Neighbour asked = {choice_at(rung),
                           present_ ? PartChoice(state_.present.size()) : state_.present};
        const auto parts = state_.in_flight->parts();
        for (std::size_t i = 0; i < parts.size(); ++i)
            if (state_.present[i] == present_ && rung != 0 &&
                state_.in_flight->stores()[parts[i].store].seq <= store(rung).seq)
                asked.parts[i] = true;
        return ask_(asked);
    }

    // The rung that is another than the one below. `low` and `high`: rungs that differ.
    std::optional<std::size_t> change(std::size_t low, std::size_t high, bool low_fails) const
    {
        CHECK(low < high, "two rungs");
        while (high - low > 1) {
            const std::size_t middle = low + (high - low) / 2;
            const std::optional<bool> said = fails(middle);
            if (!said)
                return std::nullopt;
            (*said == low_fails ? low : high) = middle;
        }
        return high;
    }

private:
    Choice choice_at(std::size_t rung) const
    {
        if (present_ && rung == 0)
            return {.base = states::Base::none};
        if (!present_ && rung == height())
            return {.base = states::Base::all};
        Choice choice = choice_;
        choice.cut = present_ ? Choice::Cut::only_until : Choice::Cut::with_until;
        choice.cut_seq = store(rung).seq;
        return choice;
    }

    const StateStores &state_;
    const Choice &choice_;
    bool present_;
    const AskNeighbour &ask_;
    std::vector<trace::EventRef> stores_;
};

// Whether the state has a part of that store, or lacks one.
bool has_part(const StateStores &state, const trace::EventRef &store, bool present)
{
    const auto parts = state.in_flight->parts();
    for (std::size_t i = 0; i < parts.size(); ++i)
        if (state.present[i] == present &&
            state.in_flight->stores()[parts[i].store].seq == store.seq)
            return true;
    return false;
}

// What is missing of the store was flushed before that event.
bool was_flushed(const StateStores &state, const trace::EventRef &store, std::uint64_t before)
{
    const auto parts = state.in_flight->parts();
    for (std::size_t i = 0; i < parts.size(); ++i)
        if (!state.present[i] && parts[i].flush_seq >= before &&
            state.in_flight->stores()[parts[i].store].seq == store.seq)
            return false;
    return true;
}

enum class Found { nothing, stores, no_answer };

// The store between two rungs that differ, if the state lacks it where it ends the failure, or has
// it where it brings the failure back.
Found find_between(const Ladder &ladder, std::size_t low, std::size_t high, bool low_fails,
                   const StateStores &state, DecidingStores &found)
{
    if (low == high)
        return Found::nothing;
    const auto rung = ladder.change(low, high, low_fails);
    if (!rung)
        return Found::no_answer;
    const trace::EventRef &store = ladder.store(*rung);
    if (!has_part(state, store, !low_fails))
        return Found::nothing;
    (low_fails ? found.absent : found.present) = store;
    return Found::stores;
}

constexpr std::size_t kMostPasses = 4;

std::size_t distance(const PartChoice &a, const PartChoice &b)
{
    std::size_t different = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        different += a[i] != b[i];
    return different;
}

// From nothing to one of the nearest passes, and from there to everything.
Found find_by_passes(std::span<const Neighbour> passes, const StateStores &state,
                     const AskNeighbour &ask, DecidingStores &found)
{
    std::vector<const Neighbour *> nearest;
    for (const Neighbour &each : passes)
        nearest.push_back(&each);
    std::stable_sort(nearest.begin(), nearest.end(), [&](const Neighbour *a, const Neighbour *b) {
        return distance(a->parts, state.present) < distance(b->parts, state.present);
    });
    nearest.resize(std::min(nearest.size(), kMostPasses));
    Found said = Found::nothing;
    for (const Neighbour *pass : nearest) {
        const StateStores stores = {state.in_flight, pass->parts};
        for (const bool up : {true, false})
            if (said == Found::nothing) {
                const Ladder ladder(stores, pass->choice, up, ask);
                said = find_between(ladder, 0, ladder.height(), up, state, found);
            }
    }
    return said;
}

// A quarter of the way, half or three quarters of it.
struct Sample {
    std::optional<std::size_t> rung = {}; // that passes
    bool answered = true;
};

Sample sample(const Ladder &ladder)
{
    const std::size_t height = ladder.height();
    std::set<std::size_t> asked = {0, height};
    for (const std::size_t quarters : {2, 1, 3}) {
        const std::size_t rung = height * quarters / 4;
        if (!asked.insert(rung).second)
            continue;
        const std::optional<Said> said = ladder.ask(rung);
        if (!said)
            return {.answered = false};
        if (said == Said::passes)
            return {.rung = rung};
    }
    return {};
}

// All stores in their order, if some of them do not fail.
Found find_in_order(const StateStores &state, const AskNeighbour &ask, DecidingStores &found)
{
    const StateStores everything = {state.in_flight, PartChoice(state.present.size(), true)};
    const Choice all = {.base = states::Base::all};
    const Ladder ladder(everything, all, true, ask);
    const Sample way = sample(ladder);
    if (!way.rung)
        return way.answered ? Found::nothing : Found::no_answer;
    const Found said = find_between(ladder, 0, *way.rung, true, state, found);
    return said == Found::nothing
               ? find_between(ladder, *way.rung, ladder.height(), false, state, found)
               : said;
}

// The store that decides on the ladder between the state and its other end, if that does not fail.
Found find_from_end(const Ladder &ladder, bool present, const StateStores &state,
                    DecidingStores &found)
{
    const std::size_t height = ladder.height();
    if (height == 0)
        return Found::nothing;
    const std::optional<bool> fails = ladder.fails(present ? 0 : height);
    if (!fails)
        return Found::no_answer;
    return *fails ? Found::nothing : find_between(ladder, 0, height, !present, state, found);
}

// The same where another bug makes that end fail.
Found find_from_middle(const Ladder &ladder, bool present, const StateStores &state,
                       DecidingStores &found)
{
    const Sample way = sample(ladder);
    if (!way.rung)
        return way.answered ? Found::nothing : Found::no_answer;
    return present ? find_between(ladder, *way.rung, ladder.height(), false, state, found)
                   : find_between(ladder, 0, *way.rung, true, state, found);
}

Found find_in_between(const StateStores &state, std::span<const Neighbour> passes,
                      const AskNeighbour &ask, DecidingStores &found)
{
    return passes.empty() ? find_in_order(state, ask, found)
                          : find_by_passes(passes, state, ask, found);
}

} // namespace

std::optional<DecidingStores> find_deciding_stores(const StateStores &state, const Choice &choice,
                                                   std::span<const Neighbour> passes,
                                                   const AskNeighbour &ask)
{
    CHECK(choice.cut == Choice::Cut::none, "a state of a strategy");
    DecidingStores found;
    const Ladder missing(state, choice, false, ask);
    const Ladder present(state, choice, true, ask);
    if (find_from_end(missing, false, state, found) == Found::no_answer ||
        find_from_end(present, true, state, found) == Found::no_answer)
        return std::nullopt;
    Found more = Found::nothing;
    if (!found.absent && !found.present)
        more = find_in_between(state, passes, ask, found);
    else if (!found.present)
        more = find_from_middle(present, true, state, found);
    else if (!found.absent)
        more = find_from_middle(missing, false, state, found);
    if (more == Found::no_answer)
        return std::nullopt;
    if (found.absent)
        found.absent_flushed =
            was_flushed(state, *found.absent, found.present ? found.present->seq : UINT64_MAX);
    return found;
}

} // namespace fencepost::test
