// SPDX-License-Identifier: GPL-2.0-or-later
// See state.h.
#include "replayer/states/state_view.h"

#include <algorithm>

namespace fencepost::states {

std::uint64_t level_of(const StateView &state, std::uint32_t item)
{
    const std::span<const ItemLevel> exceptions = state.levels.exceptions;
    const auto found = std::lower_bound(
        exceptions.begin(), exceptions.end(), item,
        [](const ItemLevel &each, std::uint32_t wanted) { return each.item < wanted; });
    if (found != exceptions.end() && found->item == item)
        return found->level;
    return state.levels.base == Base::none ? 0 : state.items->items()[item].levels - 1;
}

} // namespace fencepost::states
