// SPDX-License-Identifier: GPL-2.0-or-later
// Delta debugging over the states of one crash point: the smallest difference between one that
// fails and one that passes, and what must have persisted and what must be lost.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "replayer/states/level_path.h"
#include "replayer/test/pool/deciding_stores.h"

namespace fencepost::test {

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
    // It fails with everything and with nothing: another bug makes one of the two fail, or nothing
    // in flight matters. What the pair says is then about the state that was minimized.
    bool fails_at_both_ends = false;
};

// Of k stores that matter among n in flight, asks about k * (log2(n) + 2) states twice. Where both
// everything and nothing fail, about the nearest known pass, or what persists if some of the stores
// do so in their order. No state is asked about twice. `table`: of the crash point; `known_passes`:
// states of it that passed before.
Minimum minimize_state(const states::ItemTable &table, const states::Levels &failing,
                       std::span<const states::Levels> known_passes, const AskState &ask);

} // namespace fencepost::test
