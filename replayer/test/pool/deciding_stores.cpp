// SPDX-License-Identifier: GPL-2.0-or-later
// See deciding_stores.h.
#include "replayer/test/pool/deciding_stores.h"

#include "base/error.h"

namespace fencepost::test {

using image::PartChoice;
using image::StateStores;

namespace {

// Stores of which a part is there (or not), in order; each number once.
std::vector<std::uint32_t> stores_with(const StateStores &state, bool present)
{
    std::vector<bool> has(state.in_flight->stores().size());
    const auto parts = state.in_flight->parts();
    for (std::size_t i = 0; i < parts.size(); ++i)
        if (state.present[i] == present)
            has[parts[i].store] = true;
    std::vector<std::uint32_t> found;
    for (std::uint32_t store = 0; store < has.size(); ++store)
        if (has[store])
            found.push_back(store);
    return found;
}

// A row of states, each with one store more than the one before.
class Ladder {
public:
    Ladder(const StateStores &state, bool present, const FailsAlike &fails_alike)
        : state_(state), present_(present), fails_alike_(fails_alike),
          stores_(stores_with(state, present))
    {
    }

    std::size_t height() const { return stores_.size(); }
    const image::InFlightStore &store(std::size_t rung) const
    {
        return state_.in_flight->stores()[stores_[rung - 1]];
    }

    // The state with the first `rung` of the stores, and without the others.
    std::optional<bool> fails(std::size_t rung) const
    {
        PartChoice chosen = present_ ? PartChoice(state_.present.size()) : state_.present;
        const auto parts = state_.in_flight->parts();
        for (std::size_t i = 0; i < parts.size(); ++i)
            if (state_.present[i] == present_ && rung != 0 && parts[i].store <= stores_[rung - 1])
                chosen[i] = true;
        return fails_alike_(chosen);
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
    const StateStores &state_;
    bool present_;
    const FailsAlike &fails_alike_;
    std::vector<std::uint32_t> stores_;
};

} // namespace

std::optional<DecidingStores> find_deciding_stores(const StateStores &state,
                                                   const FailsAlike &fails_alike)
{
    DecidingStores found;
    if (const Ladder missing(state, false, fails_alike); missing.height() != 0) {
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
    if (const Ladder present(state, true, fails_alike); present.height() != 0) {
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
