// SPDX-License-Identifier: GPL-2.0-or-later
// Which of the legal crash states are generated: one table of strategies.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fencepost::states {

class Enumeration;
class OwnStrategy;

// Where a strategy asks for states.
enum class StrategyPoints : std::uint8_t {
    every,          // at each crash point that ends an epoch, or where the promise changes
    failure_points, // see FailurePoints
    returns,        // when an operation or system call has returned
};

// A row of the table. Parsing, messages, --help and docs/reference/strategies.md come from it.
struct StrategyInfo {
    std::string_view name;
    std::string_view argument; // what its number means, as in subsets:K; empty: it takes none
    std::uint64_t preset;      // the number where none is given; 0: one must be given
    StrategyPoints points;
    bool needs_items;
    std::string_view help;
    // False: whoever gets the states has enough.
    bool (*generate)(Enumeration &enumeration, std::uint64_t number);
};

std::span<const StrategyInfo> all_strategies();
// "none-all, prefix, subsets:K, … and count"
std::string strategy_names();

struct Strategy {
    const StrategyInfo *info; // a row of the table
    std::uint64_t number = 0; // where it takes one
    // The caller's own instead: then `info` is no row.
    std::shared_ptr<OwnStrategy> own = nullptr;

    bool operator==(const Strategy &) const = default;
};

Strategy make_strategy(std::shared_ptr<OwnStrategy> own);

// `prefix,subsets:2`: names with numbers, in the order in which they are applied at each crash
// point. pmreorder's engines are accepted by their names. `count` generates nothing.
// What does not parse is an Error(usage).
std::vector<Strategy> parse_strategies(std::string_view text);
std::string text_of(const Strategy &strategy);
std::string text_of(const std::vector<Strategy> &strategies);

} // namespace fencepost::states
