// SPDX-License-Identifier: GPL-2.0-or-later
// Which crash states are tested: what the user names, or what suits whoever judges.
#pragma once

#include <optional>
#include <vector>

#include "replayer/oracle/judge.h"
#include "replayer/states/items.h"
#include "replayer/states/strategy.h"

namespace fencepost::test {

// Each crash point's two ends, program order, and a few states in between: some minutes for a
// workload of a few hundred fences. docs/explanation/testing.md says what others cost.
inline constexpr const char *kDefaultStrategy = "prefix,none-all,random:4";
// Where a torn write is news.
inline constexpr const char *kTearingStrategy = "prefix,none-all,torn,random:4";

struct Exploration {
    std::vector<states::Strategy> strategies;
    states::Tearing tearing = states::Tearing::all;
};

// `named`: by the user; all of their states are generated. Else: `torn` unless a tree is compared
// under a promise that allows a torn write and no oracle is the user's, where few torn states do;
// and `returns` where an operation that has returned must be there, by the promise or for a command
// that is told. It must be there with all that was written by then, or the recording, the oracle or
// the file system is wrong, whatever a crash does.
Exploration choose_exploration(const std::optional<std::vector<states::Strategy>> &named,
                               const std::optional<run::ChosenPromise> &promise,
                               oracle::UserOracle users);

} // namespace fencepost::test
