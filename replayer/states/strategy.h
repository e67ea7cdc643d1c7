// SPDX-License-Identifier: GPL-2.0-or-later
// Which of the legal crash states are generated.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fencepost::states {

enum class StrategyKind : std::uint8_t {
    none_all,           // what is guaranteed; everything written
    all,                // everything written
    prefix,             // everything written, at each distinct failure point
    returns,            // everything written, each time an operation or system call has returned
    subsets,            // up to `number` items away from none, and from all
    torn,               // each run torn: alone in PM, and with everything else
    exhaustive,         // every state, up to `number` a crash point
    random,             // `number` states a crash point
    accumulate,         // items one after the other, in the order in which they were first written
    accumulate_reverse, // the same, the last one first
};

struct Strategy {
    StrategyKind kind = StrategyKind::none_all;
    std::uint64_t number = 0; // where the strategy takes one

    bool operator==(const Strategy &) const = default;
};

inline constexpr std::uint64_t kDefaultCap = 65536;

// `prefix,subsets:2`: names with numbers, in the order in which they are applied at each crash
// point. pmreorder's engines are accepted by their names. `count` generates nothing.
// What does not parse is an Error(usage).
std::vector<Strategy> parse_strategies(std::string_view text);
std::string text_of(const Strategy &strategy);
std::string text_of(const std::vector<Strategy> &strategies);

} // namespace fencepost::states
