// SPDX-License-Identifier: GPL-2.0-or-later
// See needed_parts.h.
#include "replayer/test/needed_parts.h"

namespace fencepost::test {

namespace {

// What was needed while more was there may not be needed now.
bool leave_out(std::vector<std::size_t> &needed, const IsEnough &is_enough)
{
    for (std::size_t i = 0; i < needed.size() && needed.size() > 1;) {
        std::vector<std::size_t> others = needed;
        others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
        const std::optional<bool> enough = is_enough(0, others);
        if (!enough)
            return false;
        if (*enough)
            needed = std::move(others);
        else
            ++i;
    }
    return true;
}

} // namespace

NeededParts find_needed(std::size_t count, const IsEnough &is_enough)
{
    NeededParts found;
    for (std::size_t end = count;;) {
        const std::optional<bool> done = is_enough(0, found.parts);
        if (!done)
            return found;
        if (*done || end == 0)
            break;
        // The part without which the first ones are not enough.
        std::size_t low = 0;
        std::size_t high = end;
        while (high - low > 1) {
            const std::size_t middle = low + (high - low) / 2;
            const std::optional<bool> enough = is_enough(middle, found.parts);
            if (!enough)
                return found;
            (*enough ? high : low) = middle;
        }
        found.parts.push_back(high - 1);
        end = high - 1;
    }
    found.complete = leave_out(found.parts, is_enough);
    return found;
}

} // namespace fencepost::test
