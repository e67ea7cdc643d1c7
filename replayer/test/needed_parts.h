// SPDX-License-Identifier: GPL-2.0-or-later
// Delta debugging by halving: of many parts in an order, the few that are enough.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace fencepost::test {

// Whether the first so many parts and these others are enough; nothing: no more may be asked.
using IsEnough =
    std::function<std::optional<bool>(std::size_t first, std::span<const std::size_t> others)>;

struct NeededParts {
    std::vector<std::size_t> parts; // the last first
    bool complete = false;          // false: stopped; they need not be enough
};

// All `count` are enough. Without any single one of what is found they would not be. Of k parts
// that are needed among n, asks about k * (log2(n) + 2) sets.
NeededParts find_needed(std::size_t count, const IsEnough &is_enough);

} // namespace fencepost::test
