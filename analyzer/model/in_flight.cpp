// SPDX-License-Identifier: GPL-2.0-or-later
// See in_flight.h.
#include "analyzer/model/in_flight.h"

#include <utility>

namespace fencepost::model {

bool InFlight::has_cached_before(std::uint32_t number, std::uint64_t seq) const
{
    const InFlightLine &line = lines_[number];
    if (line.cached == 0)
        return false;
    std::uint32_t at = line.first;
    while (pieces_[at].non_temporal)
        at = pieces_[at].next;
    return pieces_[at].seq < seq;
}

void InFlight::mark_changed(std::uint32_t number)
{
    if (!lines_[number].changed) {
        lines_[number].changed = true;
        changed_.push_back(number);
    }
}

void InFlight::forget_changes()
{
    for (const std::uint32_t number : changed_)
        lines_[number].changed = false;
    changed_.clear();
}

std::uint32_t InFlight::open(std::uint64_t line)
{
    std::uint32_t number = index_.find(line);
    if (number == kNone) {
        if (free_lines_.empty()) {
            number = static_cast<std::uint32_t>(lines_.size());
            lines_.emplace_back();
        } else {
            number = free_lines_.back();
            free_lines_.pop_back();
        }
        const bool changed = lines_[number].changed;
        lines_[number] = {.line = line, .previous = last_, .changed = changed};
        (last_ == kNone ? first_ : lines_[last_].next) = number;
        last_ = number;
        ++line_count_;
        index_.add(line, number);
    }
    recent_line_ = line;
    recent_ = number;
    return number;
}

void InFlight::close(std::uint32_t number)
{
    const InFlightLine &line = lines_[number];
    (line.previous == kNone ? first_ : lines_[line.previous].next) = line.next;
    (line.next == kNone ? last_ : lines_[line.next].previous) = line.previous;
    index_.remove(line.line);
    if (recent_ == number) {
        recent_ = kNone;
        recent_line_ = UINT64_MAX;
    }
    --line_count_;
    free_lines_.push_back(number);
}

std::uint32_t InFlight::add(std::uint64_t line, const Piece &piece)
{
    const std::uint32_t number = line == recent_line_ ? recent_ : open(line);
    InFlightLine &into = lines_[number];
    const auto at = static_cast<std::uint32_t>(pieces_.size());
    pieces_.push_back(piece);
    pieces_.back().next = kNone;
    (into.first == kNone ? into.first : pieces_[into.last].next) = at;
    into.last = at;
    ++piece_count_;
    if (piece.non_temporal) {
        ++into.non_temporal;
        if (piece.vcpu >= non_temporal_.size())
            non_temporal_.resize(piece.vcpu + 1u);
        ++non_temporal_[piece.vcpu];
    } else {
        ++into.cached;
        ++cached_count_;
    }
    mark_changed(number);
    return number;
}

void InFlight::take_out(InFlightLine &line, const Piece &piece)
{
    settled_.push_back({line.line, piece});
    --piece_count_;
    if (piece.non_temporal) {
        --line.non_temporal;
        --non_temporal_[piece.vcpu];
    } else {
        --line.cached;
        --cached_count_;
    }
}

// For a line of cached pieces only.
void InFlight::settle_prefix(std::uint32_t number, std::uint64_t before)
{
    InFlightLine &line = lines_[number];
    while (line.first != kNone && pieces_[line.first].seq < before) {
        take_out(line, pieces_[line.first]);
        line.first = pieces_[line.first].next;
    }
}

// The last piece first: whatever is before a chosen piece in the order is chosen too.
void InFlight::settle_by_order(std::uint32_t number, const Covered &covered)
{
    InFlightLine &line = lines_[number];
    chain_.clear();
    for (std::uint32_t at = line.first; at != kNone; at = pieces_[at].next)
        chain_.push_back(at);
    chosen_.assign(chain_.size(), false);
    bool any = false;
    bool cached = false;
    std::uint8_t units = 0;
    for (std::size_t i = chain_.size(); i-- > 0;) {
        const Piece &piece = pieces_[chain_[i]];
        const bool before_chosen =
            order_ == Order::line ? any
                                  : (units >> piece.unit() & 1) || (!piece.non_temporal && cached);
        if (!before_chosen && !covered.covers(piece))
            continue;
        chosen_[i] = any = true;
        cached |= !piece.non_temporal;
        units |= static_cast<std::uint8_t>(1u << piece.unit());
    }
    line.first = kNone;
    std::uint32_t last = kNone;
    for (std::size_t i = 0; i < chain_.size(); ++i) {
        if (chosen_[i]) {
            take_out(line, pieces_[chain_[i]]);
            continue;
        }
        (last == kNone ? line.first : pieces_[last].next) = chain_[i];
        last = chain_[i];
    }
    line.last = last;
    if (last != kNone)
        pieces_[last].next = kNone;
}

void InFlight::settle(std::uint32_t number, const Covered &covered)
{
    const std::uint32_t pieces_before = lines_[number].pieces();
    if (pieces_before == 0)
        return;
    if (lines_[number].non_temporal == 0 && covered.units == 0)
        settle_prefix(number, covered.cached_before);
    else
        settle_by_order(number, covered);
    if (lines_[number].pieces() == pieces_before)
        return;
    mark_changed(number);
    if (lines_[number].pieces() == 0)
        close(number);
    reclaim();
}

void InFlight::reclaim()
{
    static constexpr std::size_t kSmall = 4096;
    if (piece_count_ == 0) {
        pieces_.clear();
        return;
    }
    if (pieces_.size() < kSmall || piece_count_ * 2 > pieces_.size())
        return;
    std::vector<Piece> survivors;
    survivors.reserve(piece_count_ * 2);
    for (std::uint32_t number = first_; number != kNone; number = lines_[number].next) {
        InFlightLine &line = lines_[number];
        std::uint32_t at = line.first;
        line.first = static_cast<std::uint32_t>(survivors.size());
        for (; at != kNone; at = pieces_[at].next) {
            survivors.push_back(pieces_[at]);
            survivors.back().next = static_cast<std::uint32_t>(survivors.size());
        }
        line.last = static_cast<std::uint32_t>(survivors.size() - 1);
        survivors.back().next = kNone;
    }
    pieces_ = std::move(survivors);
}

} // namespace fencepost::model
