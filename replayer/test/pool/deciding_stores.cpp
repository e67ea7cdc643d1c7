// SPDX-License-Identifier: GPL-2.0-or-later
// See deciding_stores.h.
#include "replayer/test/pool/deciding_stores.h"

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
    Ladder(const StateStores &state, const Choice &choice, bool present,
           const FailsAlike &fails_alike)
        : state_(state), choice_(choice), present_(present), fails_alike_(fails_alike),
          stores_(stores_with(state, present))
    {
    }

    std::size_t height() const { return stores_.size(); }
    const trace::EventRef &store(std::size_t rung) const { return stores_[rung - 1]; }

    // The state with the first `rung` of the stores, and without the others.
    std::optional<bool> fails(std::size_t rung) const
    {
        Neighbour asked = {choice_at(rung),
                           present_ ? PartChoice(state_.present.size()) : state_.present};
        const auto parts = state_.in_flight->parts();
        for (std::size_t i = 0; i < parts.size(); ++i)
            if (state_.present[i] == present_ && rung != 0 &&
                state_.in_flight->stores()[parts[i].store].seq <= store(rung).seq)
                asked.parts[i] = true;
        return fails_alike_(asked);
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
    const FailsAlike &fails_alike_;
    std::vector<trace::EventRef> stores_;
};

} // namespace

std::optional<DecidingStores> find_deciding_stores(const StateStores &state, const Choice &choice,
                                                   const FailsAlike &fails_alike)
{
    CHECK(choice.cut == Choice::Cut::none, "a state of a strategy");
    DecidingStores found;
    if (const Ladder missing(state, choice, false, fails_alike); missing.height() != 0) {
        const std::optional<bool> with_all = missing.fails(missing.height());
        if (!with_all)
            return std::nullopt;
        if (!*with_all) {
            const auto rung = missing.change(0, missing.height(), true);
            if (!rung)
                return std::nullopt;
            found.absent = missing.store(*rung);
        }
    }
    if (const Ladder present(state, choice, true, fails_alike); present.height() != 0) {
        const std::optional<bool> with_none = present.fails(0);
        if (!with_none)
            return std::nullopt;
        if (!*with_none) {
            const auto rung = present.change(0, present.height(), false);
            if (!rung)
                return std::nullopt;
            found.present = present.store(*rung);
        }
    }
    return found;
}

} // namespace fencepost::test
