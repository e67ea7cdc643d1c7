// SPDX-License-Identifier: GPL-2.0-or-later
// The states of one crash point that a strategy asks for, one after the other.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <unordered_set>
#include <vector>

#include "replayer/states/crash_state.h"
#include "replayer/states/items.h"

namespace fencepost::states {

// The items have the levels of `base` but for those listed, in ascending order of items.
// Borrowed: good until the next state.
struct ChosenLevels {
    Base base = Base::none;
    std::span<const ItemLevel> exceptions = {};
    Choice::Kind kind = Choice::Kind::listed;
    std::uint64_t index = 0; // as in Choice
    std::uint64_t seed = 0;

    Choice choice() const;
};

// For all strategies that ask at the crash point: nothing and everything are emitted once.
class Enumeration {
public:
    static constexpr std::uint64_t kFewStates = 16;

    // False ends the enumeration.
    using Emit = std::function<bool(const ChosenLevels &)>;

    // `seq` is the crash point's; random states depend on it and on `seed` alone.
    Enumeration(const ItemTable &table, std::uint64_t seq, std::uint64_t seed, Emit emit)
        : table_(table), seq_(seq), seed_(seed), emit_(std::move(emit))
    {
    }

    // `since`: copies that were written before are not torn.
    void set_tearing(Tearing tearing, std::uint64_t since)
    {
        tearing_ = tearing;
        since_ = since;
    }

    // What strategies generate; false when emit said so.
    bool none();
    bool all();
    // Up to `most` items away from none, and from all.
    bool subsets(std::uint64_t most);
    // Each run and copy torn, alone in PM and with everything else.
    bool torn();
    // At most `cap` states; see capped().
    bool exhaustive(std::uint64_t cap);
    // `count` states, none of them twice; all, where there are no more or kFewStates at most.
    bool random(std::uint64_t count);
    // kind: forward or backward.
    bool accumulate(Choice::Kind kind);

    // The one state of a choice. A choice that this crash point does not have is an Error(usage).
    bool run(const Choice &choice);

    bool capped() const { return capped_; }

private:
    bool emit(const ChosenLevels &levels);
    std::uint64_t combinations() const;
    bool every_combination();
    bool advance(std::uint32_t item, std::uint64_t &level) const;
    bool subset_levels(Base base, std::size_t depth, std::uint64_t size, std::uint32_t from);
    bool takes(std::uint32_t item, std::uint64_t level) const;
    bool takes_torn(std::uint32_t item, std::uint64_t level) const;
    std::vector<std::vector<ItemLevel>> tears() const;
    void draw(std::uint64_t seed, std::uint64_t index);
    // Of the exceptions from none.
    bool is_everything() const;
    bool is_new_draw(std::unordered_set<std::uint64_t> &drawn) const;
    bool emit_random(std::uint64_t seed, std::uint64_t index);
    bool accumulate(Choice::Kind kind, std::uint64_t count);
    bool listed(const Choice &choice);
    bool cut(const Choice &choice);
    bool combination(std::uint64_t index);

    const ItemTable &table_;
    std::uint64_t seq_;
    std::uint64_t seed_;
    Emit emit_;
    Tearing tearing_ = Tearing::all;
    std::uint64_t since_ = 0;
    bool capped_ = false;
    bool seen_none_ = false;
    bool seen_all_ = false;
    std::vector<ItemLevel> exceptions_;
};

} // namespace fencepost::states
