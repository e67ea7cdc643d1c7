// SPDX-License-Identifier: GPL-2.0-or-later
// What has become guaranteed for a walk: enough of it to tell what lines held at earlier crash
// points.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "analyzer/model/piece.h"

namespace fencepost::states {

class SettledHistory {
public:
    struct Entry {
        std::uint64_t line;
        model::Piece piece;
        std::uint64_t guaranteed; // by this event, under the stricter model
        std::uint64_t before;     // the bytes that it replaced, as Piece::value

        // Whether it may be missing at a crash point from `point` on.
        bool may_lack_at(std::uint64_t point) const
        {
            return std::max(piece.seq, guaranteed) >= point;
        }
        void take_from(std::byte *content) const
        {
            model::Piece old = piece;
            old.value = before;
            old.write_to(content);
        }
    };

    // `content`: the line's bytes before the piece is written there. A non-temporal store that
    // changes nothing need not be known: with or without it, a line holds the same. A cached one
    // also orders the stores of its unit and of its line.
    void add(std::uint64_t line, const model::Piece &piece, std::uint64_t guaranteed,
             const std::byte *content)
    {
        const bool joined = piece.joined || (!entries_.empty() && entries_.back().piece.joined &&
                                             entries_.back().piece.seq == piece.seq);
        if (piece.non_temporal && !joined &&
            std::memcmp(content + piece.offset, &piece.value, piece.size) == 0)
            return;
        Entry entry = {line, piece, guaranteed, 0};
        std::memcpy(&entry.before, content + piece.offset, piece.size);
        entries_.push_back(entry);
        if (entries_.size() == 2 * kMost)
            forget_oldest();
    }

    // Nothing from before the crash point is of interest any more.
    void start_at(std::uint64_t point)
    {
        entries_.clear();
        first_point_ = point;
    }

    // In the order in which they became guaranteed. What is not among them was stored before
    // first_point(); it counts as there from then on.
    std::span<const Entry> entries() const { return entries_; }
    std::uint64_t first_point() const { return first_point_; }

private:
    static constexpr std::size_t kMost = 256;

    // All pieces of a store at once.
    void forget_oldest()
    {
        auto end = entries_.begin() + kMost;
        while (end != entries_.end() && end->piece.seq == (end - 1)->piece.seq)
            ++end;
        for (auto each = entries_.begin(); each != end; ++each)
            first_point_ = std::max(first_point_, each->piece.seq + 1);
        entries_.erase(entries_.begin(), end);
    }

    std::vector<Entry> entries_;
    std::uint64_t first_point_ = 0;
};

} // namespace fencepost::states
