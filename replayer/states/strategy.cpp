// SPDX-License-Identifier: GPL-2.0-or-later
// See strategy.h.
#include "replayer/states/strategy.h"

#include <charconv>

#include "base/error.h"
#include "replayer/states/enumeration.h"
#include "replayer/states/own_strategy.h"

namespace fencepost::states {

namespace {

constexpr std::uint64_t kDefaultCap = 65536;

using E = Enumeration;
using Points = StrategyPoints;

constexpr StrategyInfo kStrategies[] = {
    {"none-all", "", 0, Points::every, false, "what is guaranteed alone; everything written",
     [](E &e, std::uint64_t) { return e.none() && e.all(); }},
    {"prefix", "", 0, Points::failure_points, false,
     "everything written, at each distinct failure point: a flush or fence reached by a new call "
     "stack with a store since the last one",
     [](E &e, std::uint64_t) { return e.all(); }},
    {"returns", "", 0, Points::returns, false,
     "everything written, each time an operation or system call has returned",
     [](E &e, std::uint64_t) { return e.all(); }},
    {"durable", "", 0, Points::returns, false,
     "what is guaranteed alone, each time an operation or system call has returned: durability, "
     "for "
     "one state an operation",
     [](E &e, std::uint64_t) { return e.none(); }},
    {"subsets", "K", 0, Points::every, true,
     "up to K items persisted and no other, and up to K items lost and no other",
     [](E &e, std::uint64_t number) { return e.subsets(number); }},
    {"torn", "", 0, Points::every, true,
     "each run of lines and each copy torn: alone, and with everything else",
     [](E &e, std::uint64_t) { return e.torn(); }},
    {"exhaustive", "CAP", kDefaultCap, Points::every, true,
     "every state, up to CAP at a crash point; says so where it meets the cap",
     [](E &e, std::uint64_t number) { return e.exhaustive(number); }},
    {"random", "N", 0, Points::every, true,
     "N states at each crash point, drawn under --seed, none of them twice; all of them where "
     "there "
     "are no more than N or 16",
     [](E &e, std::uint64_t number) { return e.random(number); }},
    {"all", "", 0, Points::every, false, "everything written",
     [](E &e, std::uint64_t) { return e.all(); }},
    {"accumulate", "", 0, Points::every, true,
     "items one after the other, in the order in which they were first written",
     [](E &e, std::uint64_t) { return e.accumulate(Choice::Kind::forward); }},
    {"accumulate-reverse", "", 0, Points::every, true, "the same, the last one first",
     [](E &e, std::uint64_t) { return e.accumulate(Choice::Kind::backward); }},
};

// pmreorder's engines (docs/explanation/crash-states.md says how they differ).
struct Engine {
    std::string_view name;
    std::string_view strategy;
    std::uint64_t preset = 0; // instead of the strategy's
};
constexpr Engine kEngines[] = {
    {"NoReorderDoCheck", "all"},
    {"ReorderFull", "exhaustive"},
    {"ReorderPartial", "random", 3},
    {"ReorderAccumulative", "accumulate"},
    {"ReorderReverseAccumulative", "accumulate-reverse"},
};

constexpr StrategyInfo kOwn = {"own", "", 0, Points::every, true, "", nullptr};

const StrategyInfo *find(std::string_view name)
{
    for (const StrategyInfo &info : kStrategies)
        if (info.name == name)
            return &info;
    return nullptr;
}

std::string usage_of(const StrategyInfo &info)
{
    return info.argument.empty() ? std::string(info.name)
                                 : fmt::format("{}:{}", info.name, info.argument);
}

std::uint64_t parse_number(std::string_view word, std::string_view digits)
{
    std::uint64_t number = 0;
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (parsed.ec != std::errc() || parsed.ptr != digits.data() + digits.size())
        fail(ErrorKind::usage, "'{}' in the strategy '{}' is not a number", digits, word);
    if (number == 0)
        fail(ErrorKind::usage, "the strategy '{}' would generate nothing: 0 is too few", word);
    return number;
}

Strategy parse_one(std::string_view word)
{
    const std::size_t colon = word.find(':');
    const std::string_view name = word.substr(0, colon);
    const StrategyInfo *info = find(name);
    std::uint64_t preset = info ? info->preset : 0;
    for (const Engine &engine : kEngines)
        if (engine.name == name) {
            info = find(engine.strategy);
            preset = engine.preset != 0 ? engine.preset : info->preset;
        }
    if (!info)
        fail(ErrorKind::usage, "there is no strategy '{}'; there are {}", name, strategy_names());
    if (colon != std::string_view::npos) {
        if (info->argument.empty())
            fail(ErrorKind::usage, "the strategy '{}' takes no number", name);
        return {info, parse_number(word, word.substr(colon + 1))};
    }
    if (!info->argument.empty() && preset == 0)
        fail(ErrorKind::usage, "the strategy '{}' needs a number, as in {}:2", name, name);
    return {info, preset};
}

} // namespace

std::span<const StrategyInfo> all_strategies()
{
    return kStrategies;
}

std::string strategy_names()
{
    std::string names;
    for (const StrategyInfo &info : kStrategies)
        names += usage_of(info) + ", ";
    return names + "and count";
}

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

Strategy make_strategy(std::shared_ptr<OwnStrategy> own)
{
    return {&kOwn, 0, std::move(own)};
}

std::string text_of(const Strategy &strategy)
{
    if (strategy.own)
        return strategy.own->name();
    return strategy.info->argument.empty()
               ? std::string(strategy.info->name)
               : fmt::format("{}:{}", strategy.info->name, strategy.number);
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
