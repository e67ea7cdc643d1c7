// SPDX-License-Identifier: GPL-2.0-or-later
// See enumeration.h.
#include "replayer/states/enumeration.h"

#include <algorithm>

#include "base/error.h"
#include "replayer/states/cut.h"

namespace fencepost::states {

namespace {

constexpr std::uint64_t kSampledRuns = 16; // of so many runs, the torn states of one
constexpr std::uint64_t kTornRuns = 16;    // likewise of random states, one in which it is torn

// A stream of numbers that depends on nothing but its key (SplitMix64's increment and finaliser).
class Draw {
public:
    Draw(std::uint64_t seed, std::uint64_t seq, std::uint64_t index)
        : state_(mix(mix(mix(seed) ^ seq) ^ index))
    {
    }

    std::uint64_t below(std::uint64_t limit)
    {
        const std::uint64_t drawn = mix(state_ += kStep);
        return limit <= UINT32_MAX ? (drawn >> 32) * limit >> 32 : drawn % limit;
    }

private:
    static constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15u;

    static std::uint64_t mix(std::uint64_t value)
    {
        value += kStep;
        value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
        value = (value ^ value >> 27) * 0x94d049bb133111ebu;
        return value ^ value >> 31;
    }

    std::uint64_t state_;
};

} // namespace

Choice ChosenLevels::choice() const
{
    Choice made = {.kind = kind, .base = Base::none, .seed = 0, .index = index};
    if (kind == Choice::Kind::random)
        made.seed = seed;
    if (kind == Choice::Kind::listed) {
        made.base = base;
        made.listed.assign(exceptions.begin(), exceptions.end());
    }
    return made;
}

bool Enumeration::none()
{
    return emit_({});
}

bool Enumeration::all()
{
    return emit_({.base = Base::all});
}

// Which of a sampled run's torn states are generated depends on nothing but the crash point.
bool Enumeration::takes(std::uint32_t item, std::uint64_t level) const
{
    return tearing_ == Tearing::all || !ItemTable::is_torn(table_.items()[item], level) ||
           Draw(0, seq_, item).below(kSampledRuns) == 0;
}

bool Enumeration::torn()
{
    for (const Base base : {Base::none, Base::all})
        for (std::uint32_t item = 0; item < table_.items().size(); ++item)
            for (std::uint64_t level = 0; level < table_.items()[item].levels; ++level) {
                if (!ItemTable::is_torn(table_.items()[item], level) || !takes(item, level))
                    continue;
                exceptions_.assign(1, {item, level});
                if (!emit_({.base = base, .exceptions = exceptions_}))
                    return false;
            }
    return true;
}

bool Enumeration::subsets(std::uint64_t most)
{
    for (const Base base : {Base::none, Base::all})
        for (std::uint64_t size = 0; size <= std::min<std::uint64_t>(most, table_.items().size());
             ++size) {
            exceptions_.clear();
            if (!subset_levels(base, 0, size, 0))
                return false;
        }
    return true;
}

// Every choice of `size` items, each at every level but the base's.
bool Enumeration::subset_levels(Base base, std::size_t depth, std::uint64_t size,
                                std::uint32_t from)
{
    if (depth == size)
        return emit_({.base = base, .exceptions = exceptions_});
    const std::span<const Item> items = table_.items();
    for (std::uint32_t item = from; item < items.size(); ++item) {
        const std::uint64_t first = base == Base::none ? 1 : 0;
        const std::uint64_t last = items[item].levels - (base == Base::none ? 1 : 2);
        for (std::uint64_t level = first; level <= last; ++level) {
            if (!takes(item, level))
                continue;
            exceptions_.push_back({item, level});
            if (!subset_levels(base, depth + 1, size, item + 1))
                return false;
            exceptions_.pop_back();
        }
    }
    return true;
}

bool Enumeration::exhaustive(std::uint64_t cap)
{
    std::uint64_t total = 1;
    for (const Item &item : table_.items())
        if (__builtin_mul_overflow(total, item.levels, &total)) {
            total = UINT64_MAX;
            break;
        }
    capped_ = capped_ || total > cap;
    for (std::uint64_t index = 0; index < std::min(total, cap); ++index)
        if (!combination(index))
            return false;
    return true;
}

bool Enumeration::combination(std::uint64_t index)
{
    exceptions_.clear();
    std::uint64_t rest = index;
    for (std::uint32_t item = 0; rest != 0 && item < table_.items().size(); ++item) {
        const std::uint64_t level = rest % table_.items()[item].levels;
        rest /= table_.items()[item].levels;
        if (level != 0)
            exceptions_.push_back({item, level});
    }
    if (rest != 0)
        fail(ErrorKind::usage, "there is no state x{} before event {}: it has fewer", index, seq_);
    return emit_({.exceptions = exceptions_, .kind = Choice::Kind::exhaustive, .index = index});
}

namespace {

// A run is mostly there or not: where a torn one is legal, it is no news. If it is torn, then
// anywhere.
std::uint64_t random_level(Draw &draw, const ItemTable &table, const Item &item)
{
    if (item.kind != Item::Kind::run)
        return draw.below(item.levels);
    if (item.levels == 2 || draw.below(kTornRuns) != 0)
        return draw.below(2) == 0 ? 0 : item.levels - 1;
    RunCut cut = {.lines = draw.below(item.cell_count)};
    const std::uint64_t units =
        table.units_of(item.first_cell + static_cast<std::uint32_t>(cut.lines));
    cut.units = draw.below(std::min<std::uint64_t>(units, 255));
    return ItemTable::level_of_cut(cut);
}

} // namespace

bool Enumeration::random(std::uint64_t count)
{
    for (std::uint64_t index = 0; index < count; ++index)
        if (!draw(seed_, index))
            return false;
    return true;
}

bool Enumeration::draw(std::uint64_t seed, std::uint64_t index)
{
    Draw draw(seed, seq_, index);
    exceptions_.clear();
    for (std::uint32_t item = 0; item < table_.items().size(); ++item)
        if (const std::uint64_t level = random_level(draw, table_, table_.items()[item]);
            level != 0)
            exceptions_.push_back({item, level});
    return emit_(
        {.exceptions = exceptions_, .kind = Choice::Kind::random, .index = index, .seed = seed});
}

bool Enumeration::accumulate(Choice::Kind kind)
{
    for (std::uint64_t count = 0; count <= table_.items().size(); ++count)
        if (!accumulate(kind, count))
            return false;
    return true;
}

bool Enumeration::accumulate(Choice::Kind kind, std::uint64_t count)
{
    const auto items = static_cast<std::uint32_t>(table_.items().size());
    if (count > items)
        fail(ErrorKind::usage, "there are {} items in flight before event {}, not {}", items, seq_,
             count);
    const auto whole = static_cast<std::uint32_t>(count);
    const std::uint32_t first = kind == Choice::Kind::forward ? 0 : items - whole;
    exceptions_.clear();
    for (std::uint32_t item = first; item < first + whole; ++item)
        exceptions_.push_back({item, table_.items()[item].levels - 1});
    return emit_({.exceptions = exceptions_, .kind = kind, .index = count});
}

bool Enumeration::listed(const Choice &choice)
{
    for (const ItemLevel &each : choice.listed)
        if (each.item >= table_.items().size() ||
            !ItemTable::has_level(table_.items()[each.item], each.level))
            fail(ErrorKind::usage, "there is no level {} of item {} before event {}", each.level,
                 each.item, seq_);
    return emit_({.base = choice.base, .exceptions = choice.listed});
}

// As the uncut choice has it, but for what was stored late or early.
bool Enumeration::cut(const Choice &choice)
{
    Choice uncut = choice;
    uncut.cut = Choice::Cut::none;
    const CrashPoint point = {.seq = seq_};
    std::vector<ItemLevel> levels;
    Enumeration whole(table_, seq_, seed_, [&](const ChosenLevels &chosen) {
        levels = cut_levels({point, &table_, chosen}, choice.cut, choice.cut_seq);
        return true;
    });
    whole.run(uncut);
    return emit_({.exceptions = levels});
}

bool Enumeration::run(const Choice &choice)
{
    if (choice.cut != Choice::Cut::none)
        return cut(choice);
    switch (choice.kind) {
    case Choice::Kind::listed:
        return listed(choice);
    case Choice::Kind::random:
        return draw(choice.seed, choice.index);
    case Choice::Kind::exhaustive:
        return combination(choice.index);
    case Choice::Kind::forward:
    case Choice::Kind::backward:
        return accumulate(choice.kind, choice.index);
    }
    check_failed(__FILE__, __LINE__, "kind", "a choice of no kind");
}

} // namespace fencepost::states
