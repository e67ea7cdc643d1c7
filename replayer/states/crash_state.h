// SPDX-License-Identifier: GPL-2.0-or-later
// A crash state by value: which trace, read how, crashed where, with what in PM. It can be made
// again from its id alone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/model/persistence_model.h"
#include "replayer/states/items.h"

namespace fencepost::states {

enum class Base : std::uint8_t { none, all }; // of what is in flight

// How the levels of a crash point's items are given.
struct Choice {
    enum class Kind : std::uint8_t {
        listed,     // those of `base`, but for the items listed: n, a, n+3.1, a+3.0+7.2
        random,     // drawn from (seed, crash point, index): r1.0
        exhaustive, // the index-th combination of levels, the first item's changing fastest: x17
        forward,    // the first `index` items whole, the others not at all: f3
        backward,   // the last `index` items whole: b3
    };
    // What is then changed, going by when it was stored. A run counts as stored with its first
    // line.
    enum class Cut : std::uint8_t {
        none,
        only_until, // without what was stored after event `cut_seq`: r1.0u4711
        with_until, // and with all that was stored up to event `cut_seq`: r1.0w4711
    };
    Kind kind = Kind::listed;
    Base base = Base::none;
    std::uint64_t seed = 0;
    std::uint64_t index = 0;
    std::vector<ItemLevel> listed = {};
    Cut cut = Cut::none;
    std::uint64_t cut_seq = 0;

    bool operator==(const Choice &) const = default;
};

std::string text_of(const Choice &choice);

// Its id is text like 1f0c9a2e-aea-10432-n+3.1: eight digits of the trace's event digest; model (a,
// e, l), fence rule (e, a) and grouping (a, r, o), and after a point eight digits of the incidental
// fences that did not count, where there are any; the event before which power fails; the choice.
struct CrashState {
    std::string trace = {};
    model::ModelKind model = model::ModelKind::adr;
    model::FenceRule fences = model::FenceRule::explicit_only;
    Grouping grouping = Grouping::automatic;
    std::string incidental = {}; // trace::IncidentalFences::digest()
    std::uint64_t seq = 0;
    Choice choice = {};

    bool operator==(const CrashState &) const = default;
};

std::string id_of(const CrashState &state);
// What is no state's id is an Error(usage).
CrashState parse_crash_state(std::string_view id);

} // namespace fencepost::states
