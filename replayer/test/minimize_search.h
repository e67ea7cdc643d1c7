// SPDX-License-Identifier: GPL-2.0-or-later
// Delta debugging over the states of one crash point: the smallest difference between one that
// fails and one that passes, and what must have persisted and what must be lost.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "replayer/states/level_path.h"

namespace fencepost::test {

// What a guest made of a state.
enum class Said {
    passes,
    fails_alike, // as the state that is minimized
    other,       // fails in another way, or it could not be told
};

// Nothing: no more may be asked.
using AskState = std::function<std::optional<Said>(const states::Levels &)>;

struct Minimum {
    bool reproduced = false; // the state failed when it was asked about
    bool complete = false;   // false: stopped before the end
    // It fails with this much: nothing of it could be lost, and nothing more could persist, but
    // for what is in `most` too.
    states::Levels fewest = {};
    // It fails with all but this.
    states::Levels most = {};
    // States between `fewest` and `most` were looked at, and fail too.
    bool holds_between = false;
    // The pair with the smallest difference. Nothing passed: `passing` is empty.
    states::Levels failing = {};
    std::optional<states::Levels> passing = {};
    std::uint64_t changes = 0; // stores in which the pair differs
};

// Of k stores that matter among n in flight, asks about k * (log2(n) + 2) states twice. No state is
// asked about twice. `table`: of the crash point; `known_passes`: states of it that passed before.
Minimum minimize_state(const states::ItemTable &table, const states::Levels &failing,
                       std::span<const states::Levels> known_passes, const AskState &ask);

} // namespace fencepost::test
