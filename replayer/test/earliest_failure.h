// SPDX-License-Identifier: GPL-2.0-or-later
// The earliest crash point at which what a minimal failing state says fails too.
#pragma once

#include <cstdint>
#include <optional>
#include <set>

#include "replayer/states/crash_state.h"
#include "replayer/test/state_asker.h"

namespace fencepost::test {

// By their events.
struct NeededStores {
    std::set<std::uint64_t> persisted;
    std::set<std::uint64_t> lost;
};

struct TracePoints {
    const trace::TraceReader &reader;
    const image::InitialImage &initial;
    const trace::IncidentalFences &incidental;
    states::PromiseAt promise;
};

// By halving what is between the last store that must persist and `failing`, which fails: the
// state with little in flight and the one with much are asked about at each crash point. Nothing:
// none before `failing` was found.
std::optional<states::CrashState> find_earliest_failure(const TracePoints &points,
                                                        const states::CrashState &failing,
                                                        const NeededStores &needed,
                                                        StateAsker &asker);

} // namespace fencepost::test
