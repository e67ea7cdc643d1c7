// SPDX-License-Identifier: GPL-2.0-or-later
// See legality.h.
#include "replayer/states/legality.h"

#include <algorithm>
#include <array>
#include <tuple>

namespace fencepost::states {

using model::FenceRule;
using model::InFlight;
using model::InFlightLine;
using model::Piece;
using model::UnitCounts;
using trace::Event;

namespace {

// For the stricter model only.
bool is_incidental(const Event &event)
{
    return event.kind == trace::EventKind::fence &&
           counts_as_fence(event.fence_kind(), FenceRule::architectural) &&
           !counts_as_fence(event.fence_kind(), FenceRule::explicit_only);
}

// In the order of a line's pieces.
bool is_before(std::uint64_t seq, std::uint8_t offset, std::uint64_t other_seq,
               std::uint8_t other_offset)
{
    return std::tie(seq, offset) < std::tie(other_seq, other_offset);
}

} // namespace

Legality::Legality(model::ModelKind kind, PromiseAt promise)
    : promise_(std::move(promise)),
      strict_(std::make_unique<model::PersistenceModel>(kind, FenceRule::architectural))
{
}

void Legality::event(std::uint64_t seq, const Event &event, std::span<const std::byte> wide_values,
                     const InFlight &in_flight, bool changes)
{
    strict_->apply(seq, event, wide_values);
    if (!changes)
        silent_.insert(seq);
    if (changes_promise(seq, event, promise_))
        promise_since_ = seq + 1;
    for (const model::SettledPiece &settled : in_flight.settled()) {
        if (!is_silent(settled.piece))
            settled_before_ = std::max(settled_before_, settled.piece.seq + 1);
        if (!early_.empty())
            forget(settled);
    }
    forget_silent(in_flight);
    if (!is_incidental(event))
        return; // whatever it guarantees, it guarantees for the walk as well
    for (const model::SettledPiece &settled : strict_->in_flight().settled()) {
        if (is_silent(settled.piece))
            continue;
        std::vector<Early> &line = early_[settled.line];
        const Early early = {settled.piece.seq, settled.piece.offset, seq};
        line.insert(std::upper_bound(line.begin(), line.end(), early,
                                     [](const Early &a, const Early &b) {
                                         return is_before(a.seq, a.offset, b.seq, b.offset);
                                     }),
                    early);
    }
}

// Those that are no longer in flight, now and then.
void Legality::forget_silent(const InFlight &in_flight)
{
    static constexpr std::size_t kSmall = 4096;
    if (in_flight.piece_count() == 0)
        silent_.clear();
    if (silent_.size() < kSmall || silent_.size() < 4 * in_flight.piece_count())
        return;
    std::unordered_set<std::uint64_t> still;
    for (std::uint32_t number = in_flight.first_line(); number != model::kNone;
         number = in_flight.line(number).next)
        in_flight.for_each_piece(in_flight.line(number), [&](const Piece &piece) {
            if (is_silent(piece))
                still.insert(piece.seq);
        });
    silent_ = std::move(still);
}

void Legality::forget(const model::SettledPiece &settled)
{
    const auto line = early_.find(settled.line);
    if (line == early_.end())
        return;
    std::erase_if(line->second, [&](const Early &early) {
        return early.seq == settled.piece.seq && early.offset == settled.piece.offset;
    });
    if (line->second.empty())
        early_.erase(line);
}

void Legality::crash_point(const InFlight &in_flight)
{
    in_flight_ = &in_flight;
    floors_.clear();
    first_floor_ = UINT64_MAX;
    late_.reset();
    if (early_.empty())
        return;
    std::uint32_t cell = 0;
    for (std::uint32_t number = in_flight.first_line(); number != model::kNone;
         number = in_flight.line(number).next, ++cell) {
        const InFlightLine &line = in_flight.line(number);
        const auto found = early_.find(line.line);
        if (found == early_.end())
            continue;
        auto next = found->second.begin();
        UnitCounts counts = {};
        in_flight.for_each_piece(line, [&](const Piece &piece) {
            ++counts[piece.unit()];
            if (next == found->second.end() || next->seq != piece.seq ||
                next->offset != piece.offset)
                return;
            floors_.push_back({cell, piece.unit(), counts[piece.unit()], next->guaranteed});
            first_floor_ = std::min(first_floor_, next->guaranteed);
            ++next;
        });
    }
}

UnitCounts Legality::counts_of(const StateView &state, std::uint32_t cell) const
{
    const Cell &at = state.items->cells()[cell];
    std::array<std::uint64_t, model::kUnitsPerLine> levels;
    for (std::uint32_t i = 0; i < at.item_count; ++i)
        levels[i] = level_of(state, at.first_item + i);
    return state.items->unit_counts(at, std::span(levels).first(at.item_count));
}

std::uint64_t Legality::first_guarantee(const StateView &state) const
{
    if (state.levels.exceptions.empty())
        return state.levels.base == Base::none ? first_floor_ : UINT64_MAX;
    std::uint64_t first = UINT64_MAX;
    UnitCounts counts = {};
    std::uint32_t of_cell = UINT32_MAX;
    for (const Floor &floor : floors_) {
        if (floor.guaranteed >= first)
            continue;
        if (floor.cell != of_cell) {
            of_cell = floor.cell;
            counts = counts_of(state, of_cell);
        }
        if (counts[floor.unit] < floor.count)
            first = floor.guaranteed;
    }
    return first;
}

void Legality::find_late_pieces()
{
    late_.emplace();
    std::uint32_t cell = 0;
    for (std::uint32_t number = in_flight_->first_line(); number != model::kNone;
         number = in_flight_->line(number).next, ++cell) {
        UnitCounts counts = {};
        in_flight_->for_each_piece(in_flight_->line(number), [&](const Piece &piece) {
            ++counts[piece.unit()];
            if (piece.seq >= first_floor_ && !is_silent(piece))
                late_->push_back({piece.seq, cell, piece.unit(), counts[piece.unit()]});
        });
    }
    std::sort(late_->begin(), late_->end(),
              [](const LatePiece &a, const LatePiece &b) { return a.seq > b.seq; });
}

// Whether a piece of that event or a later one is there.
bool Legality::has_piece_from(const StateView &state, std::uint64_t seq)
{
    const std::span<const ItemLevel> exceptions = state.levels.exceptions;
    if (state.levels.base == Base::all) {
        if (!late_)
            find_late_pieces();
        for (const LatePiece &piece : *late_) {
            if (piece.seq < seq)
                return false;
            if (counts_of(state, piece.cell)[piece.unit] >= piece.count)
                return true;
        }
        return false;
    }
    // Nothing else is there.
    for (const ItemLevel &exception : exceptions) {
        const Item &item = state.items->items()[exception.item];
        for (std::uint32_t cell = item.first_cell; cell < item.first_cell + item.cell_count;
             ++cell) {
            UnitCounts left = counts_of(state, cell);
            bool found = false;
            in_flight_->for_each_piece(
                state.items->line(state.items->cells()[cell]), [&](const Piece &piece) {
                    found =
                        found || (left[piece.unit()] != 0 && piece.seq >= seq && !is_silent(piece));
                    left[piece.unit()] -= left[piece.unit()] != 0;
                });
            if (found)
                return true;
        }
    }
    return false;
}

bool Legality::legal_architecturally(const StateView &state)
{
    if (floors_.empty())
        return true;
    const std::uint64_t guaranteed = first_guarantee(state);
    if (guaranteed == UINT64_MAX)
        return true;
    return std::max(promise_since_, settled_before_) <= guaranteed &&
           !has_piece_from(state, guaranteed);
}

} // namespace fencepost::states
