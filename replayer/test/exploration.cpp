// SPDX-License-Identifier: GPL-2.0-or-later
// See exploration.h.
#include "replayer/test/exploration.h"

namespace fencepost::test {

using oracle::UserOracle;

Exploration choose_exploration(const std::optional<std::vector<states::Strategy>> &named,
                               const std::optional<run::ChosenPromise> &promise, UserOracle users)
{
    if (named)
        return {*named, states::Tearing::all};
    // Nobody says what an oracle of the user's, or a checker alone, expects of a write.
    const bool torn_is_legal =
        promise && promise->promise.bytes != run::BytePromise::atomic && users == UserOracle::none;
    const bool knows_returned = users == UserOracle::progress ||
                                (promise && promise->promise.durable == run::Durability::on_return);
    std::string strategies = torn_is_legal ? kDefaultStrategy : kTearingStrategy;
    if (knows_returned)
        strategies = "returns," + strategies;
    return {states::parse_strategies(strategies),
            torn_is_legal ? states::Tearing::sampled : states::Tearing::all};
}

} // namespace fencepost::test
