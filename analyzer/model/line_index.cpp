// SPDX-License-Identifier: GPL-2.0-or-later
// See line_index.h.
#include "analyzer/model/line_index.h"

#include <utility>

namespace fencepost::model {

void LineIndex::insert(std::uint64_t line, std::uint32_t number)
{
    std::size_t at = home(line);
    while (slots_[at].number != kAbsent)
        at = (at + 1) & mask_;
    slots_[at] = {line, number};
}

void LineIndex::add(std::uint64_t line, std::uint32_t number)
{
    if (++count_ * 2 > slots_.size()) {
        const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(slots_.size() * 2));
        mask_ = slots_.size() - 1;
        for (const Slot &slot : old)
            if (slot.number != kAbsent)
                insert(slot.line, slot.number);
    }
    insert(line, number);
}

void LineIndex::remove(std::uint64_t line)
{
    std::size_t gap = home(line);
    while (slots_[gap].line != line || slots_[gap].number == kAbsent)
        gap = (gap + 1) & mask_;
    // Whatever stands behind the gap moves into it unless that is before its home.
    for (std::size_t at = (gap + 1) & mask_; slots_[at].number != kAbsent; at = (at + 1) & mask_) {
        const std::size_t from_home = (at - home(slots_[at].line)) & mask_;
        const std::size_t from_gap = (at - gap) & mask_;
        if (from_home >= from_gap) {
            slots_[gap] = slots_[at];
            gap = at;
        }
    }
    slots_[gap] = {};
    --count_;
}

} // namespace fencepost::model
