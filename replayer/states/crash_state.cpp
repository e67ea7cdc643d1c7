// SPDX-License-Identifier: GPL-2.0-or-later
// See crash_state.h.
#include "replayer/states/crash_state.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "base/error.h"

namespace fencepost::states {

namespace {

constexpr std::string_view kModels = "ael";
constexpr std::string_view kFences = "ea";
constexpr std::string_view kGroupings = "aro";
constexpr std::string_view kCuts = "uw"; // from Choice::Cut::only_until on

// Takes text apart from the left; anything unexpected is the caller's to report.
class Scanner {
public:
    explicit Scanner(std::string_view text) : rest_(text) {}

    bool done() const { return rest_.empty(); }
    bool take(char letter)
    {
        if (rest_.empty() || rest_[0] != letter)
            return false;
        rest_.remove_prefix(1);
        return true;
    }
    std::optional<std::uint64_t> number()
    {
        std::uint64_t value = 0;
        const auto parsed = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
        if (parsed.ec != std::errc())
            return std::nullopt;
        rest_.remove_prefix(static_cast<std::size_t>(parsed.ptr - rest_.data()));
        return value;
    }
    std::string_view until(char letter)
    {
        const std::string_view taken = rest_.substr(0, rest_.find(letter));
        rest_.remove_prefix(taken.size());
        return taken;
    }
    std::optional<unsigned> one_of(std::string_view letters)
    {
        const std::size_t at = rest_.empty() ? std::string_view::npos : letters.find(rest_[0]);
        if (at == std::string_view::npos)
            return std::nullopt;
        rest_.remove_prefix(1);
        return static_cast<unsigned>(at);
    }

private:
    std::string_view rest_;
};

std::optional<Choice> scan_levels(Scanner &text)
{
    Choice choice;
    const auto kind = text.one_of("narxfb");
    if (!kind)
        return std::nullopt;
    if (*kind < 2) {
        choice.base = *kind == 0 ? Base::none : Base::all;
        while (text.take('+')) {
            const auto item = text.number();
            const auto level = item && text.take('.') ? text.number() : std::nullopt;
            if (!level || *item > UINT32_MAX)
                return std::nullopt;
            choice.listed.push_back({static_cast<std::uint32_t>(*item), *level});
        }
        const bool ascending = std::adjacent_find(choice.listed.begin(), choice.listed.end(),
                                                  [](const ItemLevel &a, const ItemLevel &b) {
                                                      return a.item >= b.item;
                                                  }) == choice.listed.end();
        return ascending ? std::optional(choice) : std::nullopt;
    }
    choice.kind = static_cast<Choice::Kind>(*kind - 1);
    if (choice.kind == Choice::Kind::random) {
        const auto seed = text.number();
        if (!seed || !text.take('.'))
            return std::nullopt;
        choice.seed = *seed;
    }
    const auto index = text.number();
    if (!index)
        return std::nullopt;
    choice.index = *index;
    return choice;
}

std::optional<Choice> scan_choice(Scanner &text)
{
    std::optional<Choice> choice = scan_levels(text);
    if (!choice || text.done())
        return choice;
    const auto cut = text.one_of(kCuts);
    const auto seq = cut ? text.number() : std::nullopt;
    if (!seq)
        return std::nullopt;
    choice->cut = static_cast<Choice::Cut>(*cut + 1);
    choice->cut_seq = *seq;
    return choice;
}

bool is_digest(std::string_view digits)
{
    return digits.size() == 8 &&
           digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::optional<CrashState> scan_state(std::string_view words)
{
    Scanner text(words);
    CrashState state;
    state.trace = text.until('-');
    if (!is_digest(state.trace) || !text.take('-'))
        return std::nullopt;
    const auto model = text.one_of(kModels);
    const auto fences = text.one_of(kFences);
    const auto grouping = text.one_of(kGroupings);
    if (!model || !fences || !grouping)
        return std::nullopt;
    if (text.take('.')) {
        state.incidental = text.until('-');
        if (!is_digest(state.incidental))
            return std::nullopt;
    }
    if (!text.take('-'))
        return std::nullopt;
    state.model = static_cast<model::ModelKind>(*model);
    state.fences = static_cast<model::FenceRule>(*fences);
    state.grouping = static_cast<Grouping>(*grouping);
    const auto seq = text.number();
    if (!seq || !text.take('-'))
        return std::nullopt;
    state.seq = *seq;
    std::optional<Choice> choice = scan_choice(text);
    if (!choice || !text.done())
        return std::nullopt;
    state.choice = std::move(*choice);
    return state;
}

} // namespace

namespace {

std::string text_of_levels(const Choice &choice)
{
    switch (choice.kind) {
    case Choice::Kind::listed: {
        fmt::memory_buffer text;
        text.push_back(choice.base == Base::none ? 'n' : 'a');
        for (const ItemLevel &each : choice.listed)
            fmt::format_to(std::back_inserter(text), "+{}.{}", each.item, each.level);
        return fmt::to_string(text);
    }
    case Choice::Kind::random:
        return fmt::format("r{}.{}", choice.seed, choice.index);
    case Choice::Kind::exhaustive:
        return fmt::format("x{}", choice.index);
    case Choice::Kind::forward:
        return fmt::format("f{}", choice.index);
    case Choice::Kind::backward:
        return fmt::format("b{}", choice.index);
    }
    check_failed(__FILE__, __LINE__, "kind", "a choice of no kind");
}

} // namespace

std::string text_of(const Choice &choice)
{
    std::string text = text_of_levels(choice);
    if (choice.cut != Choice::Cut::none)
        text += fmt::format("{}{}", kCuts[static_cast<unsigned>(choice.cut) - 1], choice.cut_seq);
    return text;
}

std::string id_of(const CrashState &state)
{
    return fmt::format(
        "{}-{}{}{}{}{}-{}-{}", state.trace, kModels[static_cast<unsigned>(state.model)],
        kFences[static_cast<unsigned>(state.fences)],
        kGroupings[static_cast<unsigned>(state.grouping)], state.incidental.empty() ? "" : ".",
        state.incidental, state.seq, text_of(state.choice));
}

CrashState parse_crash_state(std::string_view id)
{
    std::optional<CrashState> state = scan_state(id);
    if (!state)
        fail(ErrorKind::usage,
             "'{}' is not the id of a crash state (fencepost states RUN --list prints them)", id);
    return std::move(*state);
}

} // namespace fencepost::states
