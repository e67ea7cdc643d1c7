// SPDX-License-Identifier: GPL-2.0-or-later
// See legality.h.
#include "replayer/states/legality.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>

namespace fencepost::states {

using model::FenceRule;
using model::InFlight;
using model::InFlightLine;
using model::Piece;
using model::UnitCounts;
using trace::Event;
using trace::kLineBytes;

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

UnitCounts all_pieces(const InFlight &in_flight, const InFlightLine &line)
{
    UnitCounts counts = {};
    in_flight.for_each_piece(line, [&](const Piece &piece) { ++counts[piece.unit()]; });
    return counts;
}

} // namespace

Legality::Legality(model::ModelKind kind, LineBytes guaranteed, PromiseAt promise)
    : promise_(std::move(promise)), guaranteed_(std::move(guaranteed)),
      strict_(std::make_unique<model::PersistenceModel>(kind, FenceRule::architectural)),
      line_points_(strict_->in_flight().order())
{
}

void Legality::event(std::uint64_t seq, const Event &event, std::span<const std::byte> wide_values)
{
    next_ = seq + 1;
    strict_->apply(seq, event, wide_values);
    if (changes_promise(seq, event, promise_))
        history_.start_at(next_);
    if (!is_incidental(event))
        return; // whatever it guarantees, it guarantees for the walk as well
    for (const model::SettledPiece &settled : strict_->in_flight().settled()) {
        std::vector<Early> &line = early_[settled.line];
        const Early early = {settled.piece.seq, settled.piece.offset, seq};
        line.insert(std::upper_bound(line.begin(), line.end(), early,
                                     [](const Early &a, const Early &b) {
                                         return is_before(a.seq, a.offset, b.seq, b.offset);
                                     }),
                    early);
    }
}

// Returns the event that guaranteed it: the current one, or one before.
std::uint64_t Legality::forget_early(const model::SettledPiece &settled)
{
    std::uint64_t guaranteed = next_ - 1;
    const auto line = early_.find(settled.line);
    if (line == early_.end())
        return guaranteed;
    std::erase_if(line->second, [&](const Early &early) {
        const bool found = early.seq == settled.piece.seq && early.offset == settled.piece.offset;
        if (found)
            guaranteed = early.guaranteed;
        return found;
    });
    if (line->second.empty())
        early_.erase(line);
    return guaranteed;
}

void Legality::settle(const model::SettledPiece &settled)
{
    const std::uint64_t guaranteed = early_.empty() ? next_ - 1 : forget_early(settled);
    if (const std::byte *content = guaranteed_(settled.line))
        history_.add(settled.line, settled.piece, guaranteed, content);
}

void Legality::crash_point(const InFlight &in_flight)
{
    in_flight_ = &in_flight;
    floors_.clear();
    ready_ = false;
    if (early_.empty())
        return;
    std::uint32_t cell = 0;
    for (std::uint32_t number = in_flight.first_line(); number != model::kNone;
         number = in_flight.line(number).next, ++cell) {
        const auto found = early_.find(in_flight.line(number).line);
        if (found == early_.end())
            continue;
        auto next = found->second.begin();
        UnitCounts counts = {};
        Floor floor = {cell, {}};
        in_flight.for_each_piece(in_flight.line(number), [&](const Piece &piece) {
            ++counts[piece.unit()];
            if (next == found->second.end() || next->seq != piece.seq ||
                next->offset != piece.offset)
                return;
            floor.least[piece.unit()] = counts[piece.unit()];
            ++next;
        });
        floors_.push_back(floor);
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

bool Legality::lacks_early(const StateView &state) const
{
    if (state.levels.exceptions.empty())
        return state.levels.base == Base::none && !floors_.empty();
    return std::any_of(floors_.begin(), floors_.end(), [&](const Floor &floor) {
        const UnitCounts counts = counts_of(state, floor.cell);
        return !std::equal(floor.least.begin(), floor.least.end(), counts.begin(),
                           std::less_equal<>());
    });
}

// Those that may be missing at one of the points.
std::span<const SettledHistory::Entry *const> Legality::settled_in(std::uint64_t line) const
{
    const auto first = std::partition_point(settled_.begin(), settled_.end(),
                                            [&](const auto *each) { return each->line < line; });
    const auto last = std::partition_point(first, settled_.end(),
                                           [&](const auto *each) { return each->line == line; });
    return {first, last};
}

const LineHistory &Legality::history_of(std::uint64_t line)
{
    line_.pieces.clear();
    const std::byte *content = guaranteed_(line);
    std::copy(content, content + kLineBytes, line_.before.begin());
    const auto settled = settled_in(line);
    for (auto each = settled.rbegin(); each != settled.rend(); ++each) {
        if (!(*each)->may_lack_at(points_.front()))
            continue;
        (*each)->take_from(line_.before.data());
        line_.pieces.push_back({(*each)->piece, (*each)->guaranteed});
    }
    const bool merge = !line_.pieces.empty();
    if (const std::uint32_t number = in_flight_->find(line); number != model::kNone) {
        const auto early = early_.find(line);
        std::span<const Early> rest;
        if (early != early_.end())
            rest = early->second;
        in_flight_->for_each_piece(in_flight_->line(number), [&](const Piece &piece) {
            line_.pieces.push_back({piece});
            if (rest.empty() || rest[0].seq != piece.seq || rest[0].offset != piece.offset)
                return;
            line_.pieces.back().guaranteed = rest[0].guaranteed;
            rest = rest.subspan(1);
        });
    }
    if (merge)
        std::sort(line_.pieces.begin(), line_.pieces.end(),
                  [](const TimedPiece &a, const TimedPiece &b) {
                      return is_before(a.piece.seq, a.piece.offset, b.piece.seq, b.piece.offset);
                  });
    return line_;
}

// The crash points at which all lines can hold their bytes of which nothing is in flight.
void Legality::find_points()
{
    const std::span<const SettledHistory::Entry> entries = history_.entries();
    points_.assign(1, next_);
    for (const SettledHistory::Entry &each : entries)
        points_.push_back(each.guaranteed);
    for (const auto &[line, pieces] : early_)
        for (const Early &each : pieces)
            points_.push_back(each.guaranteed);
    std::erase_if(points_, [this](std::uint64_t p) { return p < history_.first_point(); });
    std::sort(points_.begin(), points_.end());
    points_.erase(std::unique(points_.begin(), points_.end()), points_.end());
    settled_.clear();
    for (const SettledHistory::Entry &each : entries)
        settled_.push_back(&each);
    std::stable_sort(settled_.begin(), settled_.end(),
                     [](const auto *a, const auto *b) { return a->line < b->line; });
    for (std::size_t i = 0; i < settled_.size();) {
        const std::uint64_t line = settled_[i]->line;
        i += settled_in(line).size();
        if (in_flight_->find(line) != model::kNone)
            continue;
        possible_.resize(points_.size());
        line_points_.find(history_of(line), guaranteed_(line), points_, possible_);
        std::size_t at = 0;
        std::erase_if(points_, [&](std::uint64_t) { return !possible_[at++]; });
    }
}

void Legality::find_base(std::uint32_t number, const UnitCounts &counts, OfBase &base)
{
    find_line(number, counts);
    base.possible.insert(base.possible.end(), possible_.begin(), possible_.end());
    for (std::size_t i = 0; i < points_.size(); ++i)
        base.impossible[i] += !possible_[i];
}

void Legality::prepare()
{
    ready_ = true;
    find_points();
    for (OfBase *base : {&none_, &all_}) {
        base->possible.clear();
        base->impossible.assign(points_.size(), 0);
    }
    for (std::uint32_t number = in_flight_->first_line(); number != model::kNone;
         number = in_flight_->line(number).next) {
        find_base(number, {}, none_);
        find_base(number, all_pieces(*in_flight_, in_flight_->line(number)), all_);
    }
}

// Sets possible_ for a line with so many pieces of its units.
void Legality::find_line(std::uint32_t number, const UnitCounts &counts)
{
    const InFlightLine &line = in_flight_->line(number);
    std::array<std::byte, kLineBytes> wanted;
    const std::byte *guaranteed = guaranteed_(line.line);
    std::copy(guaranteed, guaranteed + kLineBytes, wanted.begin());
    UnitCounts left = counts;
    in_flight_->for_each_piece(line, [&](const Piece &piece) {
        if (left[piece.unit()] == 0)
            return;
        --left[piece.unit()];
        piece.write_to(wanted.data());
    });
    possible_.resize(points_.size());
    line_points_.find(history_of(line.line), wanted.data(), points_, possible_);
}

// Most cells have nothing, or all, of what is in flight.
std::span<const std::uint8_t> Legality::possible_in(const StateView &state, std::uint32_t cell)
{
    const UnitCounts counts = counts_of(state, cell);
    const std::uint32_t number = state.items->cells()[cell].number;
    const std::uint32_t pieces = std::accumulate(counts.begin(), counts.end(), 0u);
    if (pieces == 0 || pieces == in_flight_->line(number).pieces())
        return (pieces == 0 ? none_ : all_).of_cell(cell);
    find_line(number, counts);
    return possible_;
}

bool Legality::legal_architecturally(const StateView &state)
{
    if (floors_.empty() || !lacks_early(state))
        return true;
    if (!ready_)
        prepare();
    const OfBase &base = state.levels.base == Base::none ? none_ : all_;
    impossible_ = base.impossible;
    std::uint32_t next_cell = 0; // the unit items of a line are one cell
    for (const ItemLevel &exception : state.levels.exceptions) {
        const Item &item = state.items->items()[exception.item];
        const std::uint32_t end = item.first_cell + item.cell_count;
        for (std::uint32_t cell = std::max(item.first_cell, next_cell); cell < end; ++cell) {
            const std::span<const std::uint8_t> before = base.of_cell(cell);
            const std::span<const std::uint8_t> possible = possible_in(state, cell);
            for (std::size_t i = 0; i < points_.size(); ++i)
                impossible_[i] += std::uint32_t{before[i]} - std::uint32_t{possible[i]};
        }
        next_cell = end;
    }
    return std::find(impossible_.begin(), impossible_.end(), 0u) != impossible_.end();
}

} // namespace fencepost::states
