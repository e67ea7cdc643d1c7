// SPDX-License-Identifier: GPL-2.0-or-later
// See choice.h.
#include "replayer/states/choice.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>

#include "base/error.h"

namespace fencepost::states {

namespace {

constexpr std::string_view kModels = "ael";
constexpr std::string_view kFences = "ea";
constexpr std::string_view kGroupings = "aro";

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

std::optional<Choice> scan_choice(Scanner &text)
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

bool is_digest(std::string_view digits)
{
    return digits.size() == 8 &&
           digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::optional<StateId> scan_id(std::string_view words)
{
    Scanner text(words);
    StateId id;
    id.trace = text.until('-');
    if (!is_digest(id.trace) || !text.take('-'))
        return std::nullopt;
    const auto model = text.one_of(kModels);
    const auto fences = text.one_of(kFences);
    const auto grouping = text.one_of(kGroupings);
    if (!model || !fences || !grouping)
        return std::nullopt;
    if (text.take('.')) {
        id.incidental = text.until('-');
        if (!is_digest(id.incidental))
            return std::nullopt;
    }
    if (!text.take('-'))
        return std::nullopt;
    id.model = static_cast<model::ModelKind>(*model);
    id.fences = static_cast<model::FenceRule>(*fences);
    id.grouping = static_cast<Grouping>(*grouping);
    const auto seq = text.number();
    if (!seq || !text.take('-'))
        return std::nullopt;
    id.seq = *seq;
    std::optional<Choice> choice = scan_choice(text);
    if (!choice || !text.done())
        return std::nullopt;
    id.choice = std::move(*choice);
    return id;
}

} // namespace

std::string text_of(const Choice &choice)
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

std::string text_of(const StateId &id)
{
    return fmt::format("{}-{}{}{}{}{}-{}-{}", id.trace, kModels[static_cast<unsigned>(id.model)],
                       kFences[static_cast<unsigned>(id.fences)],
                       kGroupings[static_cast<unsigned>(id.grouping)],
                       id.incidental.empty() ? "" : ".", id.incidental, id.seq, text_of(id.choice));
}

StateId parse_state_id(std::string_view text)
{
    std::optional<StateId> id = scan_id(text);
    if (!id)
        fail(ErrorKind::usage, "'{}' is not the id of a crash state (--list prints them)", text);
    return std::move(*id);
}

} // namespace fencepost::states
