// SPDX-License-Identifier: GPL-2.0-or-later
// See strategy.h.
#include "replayer/states/strategy.h"

#include <charconv>

#include "base/error.h"

namespace fencepost::states {

namespace {

enum class Number : std::uint8_t { none, needed, optional };

struct Name {
    std::string_view name;
    StrategyKind kind;
    Number number;
    std::uint64_t preset = 0; // when no number is given
};

constexpr Name kNames[] = {
    {"none-all", StrategyKind::none_all, Number::none},
    {"all", StrategyKind::all, Number::none},
    {"prefix", StrategyKind::prefix, Number::none},
    {"returns", StrategyKind::returns, Number::none},
    {"subsets", StrategyKind::subsets, Number::needed},
    {"torn", StrategyKind::torn, Number::none},
    {"exhaustive", StrategyKind::exhaustive, Number::optional, kDefaultCap},
    {"random", StrategyKind::random, Number::needed},
    {"accumulate", StrategyKind::accumulate, Number::none},
    {"accumulate-reverse", StrategyKind::accumulate_reverse, Number::none},
    // pmreorder's engines (docs/explanation/crash-states.md says how they differ).
    {"NoReorderDoCheck", StrategyKind::all, Number::none},
    {"ReorderFull", StrategyKind::exhaustive, Number::optional, kDefaultCap},
    {"ReorderPartial", StrategyKind::random, Number::optional, 3},
    {"ReorderAccumulative", StrategyKind::accumulate, Number::none},
    {"ReorderReverseAccumulative", StrategyKind::accumulate_reverse, Number::none},
};

Strategy parse_one(std::string_view word)
{
    const std::size_t colon = word.find(':');
    const std::string_view name = word.substr(0, colon);
    for (const Name &known : kNames) {
        if (known.name != name)
            continue;
        if (colon == std::string_view::npos) {
            if (known.number == Number::needed)
                fail(ErrorKind::usage, "the strategy '{}' needs a number, as in {}:2", name, name);
            return {known.kind, known.preset};
        }
        if (known.number == Number::none)
            fail(ErrorKind::usage, "the strategy '{}' takes no number", name);
        const std::string_view digits = word.substr(colon + 1);
        std::uint64_t number = 0;
        const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), number);
        if (parsed.ec != std::errc() || parsed.ptr != digits.data() + digits.size())
            fail(ErrorKind::usage, "'{}' in the strategy '{}' is not a number", digits, word);
        if (number == 0)
            fail(ErrorKind::usage, "the strategy '{}' would generate nothing: 0 is too few", word);
        return {known.kind, number};
    }
    fail(ErrorKind::usage,
         "there is no strategy '{}'; there are none-all, prefix, returns, subsets:K, torn, "
         "exhaustive:CAP, random:N, all, accumulate, accumulate-reverse, and count",
         name);
}

} // namespace

std::vector<Strategy> parse_strategies(std::string_view text)
{
    if (text == "count" || text == "NoReorderNoCheck")
        return {};
    std::vector<Strategy> strategies;
    for (std::size_t at = 0;;) {
        const std::size_t comma = text.find(',', at);
        strategies.push_back(parse_one(text.substr(at, comma - at)));
        if (comma == std::string_view::npos)
            return strategies;
        at = comma + 1;
    }
}

std::string text_of(const Strategy &strategy)
{
    for (const Name &known : kNames)
        if (known.kind == strategy.kind)
            return known.number == Number::none ? std::string(known.name)
                                                : fmt::format("{}:{}", known.name, strategy.number);
    check_failed(__FILE__, __LINE__, "kind", "a strategy without a name");
}

std::string text_of(const std::vector<Strategy> &strategies)
{
    std::string text;
    for (const Strategy &strategy : strategies) {
        if (!text.empty())
            text += ',';
        text += text_of(strategy);
    }
    return text.empty() ? "count" : text;
}

} // namespace fencepost::states
