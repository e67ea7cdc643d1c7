// SPDX-License-Identifier: GPL-2.0-or-later
// See enumeration.h.
#include "replayer/states/enumeration.h"

#include <algorithm>

#include "base/error.h"
#include "replayer/states/cut.h"
#include "replayer/states/draw.h"

namespace fencepost::states {

namespace {

constexpr std::uint64_t kSampledLevels = 32; // of so many torn levels of runs, one

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

// Several strategies begin with nothing and everything.
bool Enumeration::emit(const ChosenLevels &levels)
{
    if (levels.kind == Choice::Kind::listed && levels.exceptions.empty()) {
        bool &seen = levels.base == Base::none ? seen_none_ : seen_all_;
        if (seen)
            return true;
        seen = true;
    }
    return emit_(levels);
}

bool Enumeration::none()
{
    return emit({});
}

bool Enumeration::all()
{
    return emit({.base = Base::all});
}

// Which of the torn states are generated where they are sampled depends on nothing but the crash
// point.
bool Enumeration::takes_torn(std::uint32_t item, std::uint64_t level) const
{
    return tearing_ == Tearing::all ||
           Draw(0, seq_, item * kRunCuts + level).below(kSampledLevels) == 0;
}

bool Enumeration::takes(std::uint32_t item, std::uint64_t level) const
{
    return !ItemTable::is_torn(table_.items()[item], level) || takes_torn(item, level);
}

// Levels of the items that a torn state is about.
std::vector<std::vector<ItemLevel>> Enumeration::tears() const
{
    std::vector<std::vector<ItemLevel>> found;
    for (std::uint32_t item = 0; item < table_.items().size(); ++item)
        for (std::uint64_t level = 0; level < table_.items()[item].levels; ++level)
            if (ItemTable::is_torn(table_.items()[item], level) && takes_torn(item, level))
                found.push_back({{item, level}});
    for (const Item &copy : table_.copies(since_)) {
        const std::size_t first = found.size();
        const auto none = table_.levels_of(copy, kRunNone);
        const auto all = table_.levels_of(copy, copy.levels - 1);
        for (std::uint64_t level = 1; level < copy.levels - 1; ++level) {
            // A small one has less levels than a run.
            auto torn = table_.levels_of(copy, level);
            if (torn != none && torn != all && takes_torn(torn[0].item, level) &&
                std::find(found.begin() + static_cast<std::ptrdiff_t>(first), found.end(), torn) ==
                    found.end())
                found.push_back(std::move(torn));
        }
    }
    return found;
}

bool Enumeration::torn()
{
    const auto found = tears();
    for (const Base base : {Base::none, Base::all})
        for (const std::vector<ItemLevel> &torn : found) {
            exceptions_.clear();
            for (const ItemLevel &each : torn)
                if (each.level != (base == Base::none ? 0 : table_.items()[each.item].levels - 1))
                    exceptions_.push_back(each);
            if (!emit({.base = base, .exceptions = exceptions_}))
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
        return emit({.base = base, .exceptions = exceptions_});
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
    return emit({.exceptions = exceptions_, .kind = Choice::Kind::exhaustive, .index = index});
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
    return emit({.exceptions = exceptions_, .kind = kind, .index = count});
}

bool Enumeration::listed(const Choice &choice)
{
    for (const ItemLevel &each : choice.listed)
        if (each.item >= table_.items().size() ||
            !ItemTable::has_level(table_.items()[each.item], each.level))
            fail(ErrorKind::usage, "there is no level {} of item {} before event {}", each.level,
                 each.item, seq_);
    return emit({.base = choice.base, .exceptions = choice.listed});
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
    return emit({.exceptions = levels});
}

bool Enumeration::run(const Choice &choice)
{
    if (choice.cut != Choice::Cut::none)
        return cut(choice);
    switch (choice.kind) {
    case Choice::Kind::listed:
        return listed(choice);
    case Choice::Kind::random:
        draw(choice.seed, choice.index);
        return emit_random(choice.seed, choice.index);
    case Choice::Kind::exhaustive:
        return combination(choice.index);
    case Choice::Kind::forward:
    case Choice::Kind::backward:
        return accumulate(choice.kind, choice.index);
    }
    check_failed(__FILE__, __LINE__, "kind", "a choice of no kind");
}

} // namespace fencepost::states
