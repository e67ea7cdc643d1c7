// SPDX-License-Identifier: GPL-2.0-or-later
// Random states of a crash point: see Enumeration::random().
#include <algorithm>

#include "replayer/states/draw.h"
#include "replayer/states/enumeration.h"

namespace fencepost::states {

namespace {

constexpr std::uint64_t kTornRuns = 16; // of so many random states, one in which a run is torn
constexpr std::uint64_t kDraws = 16;    // for a random state that is not a repetition

// A run is mostly there or not: where a torn one is legal, it is no news. If it is torn, then
// anywhere.
std::uint64_t random_level(Draw &draw, const ItemTable &table, const Item &item)
{
    if (item.kind != Item::Kind::run)
        return draw.below(item.levels);
    if (item.levels == 2 || draw.below(kTornRuns) != 0)
        return draw.below(2) == 0 ? 0 : item.levels - 1;
    RunPart part = {.lines = draw.below(item.cell_count)};
    const std::uint64_t units =
        table.units_of(item.first_cell + static_cast<std::uint32_t>(part.lines));
    part.units = draw.below(std::min<std::uint64_t>(units, 255));
    if (draw.below(2) != 0)
        part.kind = RunPart::Kind::behind_cut;
    return ItemTable::level_of_cut(part);
}

} // namespace

bool Enumeration::random(std::uint64_t count)
{
    if (combinations() <= std::max(count, kFewStates))
        return every_combination();
    std::unordered_set<std::uint64_t> drawn; // hashes
    // Torn runs are seldom drawn: it may take long to come by the last of the states.
    const std::uint64_t last = count > UINT64_MAX / kDraws ? UINT64_MAX : count * kDraws;
    for (std::uint64_t index = 0; index < last && drawn.size() < count; ++index) {
        draw(seed_, index);
        if (!is_new_draw(drawn))
            continue;
        const bool going = exceptions_.empty() ? none()
                           : is_everything()   ? all()
                                               : emit_random(seed_, index);
        if (!going)
            return false;
    }
    return true;
}

// Neither drawn before nor one of the two that another strategy has emitted.
bool Enumeration::is_new_draw(std::unordered_set<std::uint64_t> &drawn) const
{
    if ((seen_none_ && exceptions_.empty()) || (seen_all_ && is_everything()))
        return false;
    std::uint64_t hash = 0;
    for (const ItemLevel &each : exceptions_)
        hash = mix(mix(hash ^ each.item) ^ each.level);
    return drawn.insert(hash).second;
}

bool Enumeration::is_everything() const
{
    return exceptions_.size() == table_.items().size() &&
           std::all_of(exceptions_.begin(), exceptions_.end(), [&](const ItemLevel &each) {
               return each.level == table_.items()[each.item].levels - 1;
           });
}

// Of levels that takes() says; UINT64_MAX: so many or more, as where a run is cut anywhere.
std::uint64_t Enumeration::combinations() const
{
    std::uint64_t total = 1;
    for (std::uint32_t number = 0; number < table_.items().size(); ++number) {
        const Item &item = table_.items()[number];
        std::uint64_t levels = item.levels;
        if (item.kind == Item::Kind::run && item.levels > 2) {
            if (tearing_ == Tearing::all)
                return UINT64_MAX;
            for (std::uint64_t level = 0; level < item.levels; ++level)
                levels -= !takes(number, level);
        }
        if (__builtin_mul_overflow(total, levels, &total))
            return UINT64_MAX;
    }
    return total;
}

bool Enumeration::every_combination()
{
    std::vector<std::uint64_t> levels(table_.items().size(), 0);
    for (;;) {
        exceptions_.clear();
        for (std::uint32_t item = 0; item < levels.size(); ++item)
            if (levels[item] != 0)
                exceptions_.push_back({item, levels[item]});
        const bool everything = !exceptions_.empty() && is_everything();
        if (!(everything ? all() : emit({.exceptions = exceptions_})))
            return false;
        std::uint32_t item = 0;
        while (item < levels.size() && !advance(item, levels[item]))
            ++item;
        if (item == levels.size())
            return true;
    }
}

// To the next level that is taken; false: to the first again.
bool Enumeration::advance(std::uint32_t item, std::uint64_t &level) const
{
    do
        level = (level + 1) % table_.items()[item].levels;
    while (!takes(item, level));
    return level != 0;
}

bool Enumeration::emit_random(std::uint64_t seed, std::uint64_t index)
{
    return emit(
        {.exceptions = exceptions_, .kind = Choice::Kind::random, .index = index, .seed = seed});
}

void Enumeration::draw(std::uint64_t seed, std::uint64_t index)
{
    Draw draw(seed, seq_, index);
    exceptions_.clear();
    for (std::uint32_t item = 0; item < table_.items().size(); ++item)
        if (const std::uint64_t level = random_level(draw, table_, table_.items()[item]);
            level != 0)
            exceptions_.push_back({item, level});
}

} // namespace fencepost::states
