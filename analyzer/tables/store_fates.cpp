// SPDX-License-Identifier: GPL-2.0-or-later
// See store_fates.h. A store is cut into pieces, which the model guarantees one by one; its fate is
// decided with the last of them.
#include "analyzer/tables/store_fates.h"

#include <algorithm>

#include "base/interrupt.h"

namespace fencepost::tables {

using trace::Event;
using trace::EventKind;

namespace {

std::optional<std::uint64_t> first_behind(const std::vector<std::uint64_t> &seqs,
                                          std::uint64_t after)
{
    const auto first = std::ranges::upper_bound(seqs, after);
    return first == seqs.end() ? std::nullopt : std::optional(*first);
}

std::optional<std::uint64_t> earlier(std::optional<std::uint64_t> a, std::optional<std::uint64_t> b)
{
    return a && b ? std::min(a, b) : a ? a : b;
}

} // namespace

StoreFates::StoreFates(trace::EventScan scan, model::ModelKind kind, model::FenceRule rule)
    : scan_(std::move(scan)), model_(kind, rule)
{
}

void StoreFates::Pending::flush(std::optional<std::uint64_t> seq)
{
    unflushed |= !seq;
    fate.flushed = unflushed ? std::nullopt : std::max(fate.flushed, seq);
}

bool StoreFates::next()
{
    throw_if_interrupted();
    fates_.clear();
    if (ended_)
        return false;
    if (scan_.next()) {
        scan_.visit_block([&](std::uint64_t seq, const Event &event,
                              std::span<const std::byte> wide) { see(seq, event, wide); });
        return true;
    }
    ended_ = true;
    give_up();
    return true;
}

void StoreFates::see(std::uint64_t seq, const Event &event, std::span<const std::byte> wide_values)
{
    const bool ends_epoch = model_.raises_guarantee(event);
    if (event.is_store())
        begin(seq, event);
    else if (event.kind == EventKind::flush)
        note_flush(seq, event);
    model_.apply(seq, event, wide_values);
    for (const model::SettledPiece &piece : model_.in_flight().settled())
        settle(piece, seq, event);
    forget_flushes(model_.in_flight().settled());
    model_.forget_changes();
    epoch_ += ends_epoch;
    fences_ += event.kind == EventKind::fence && counts_as_fence(event, model_.fence_rule());
}

void StoreFates::begin(std::uint64_t seq, const Event &event)
{
    Pending &pending = pending_[seq];
    pending.fate = {.seq = seq, .store = event, .epoch = epoch_};
    pending.fences_before = fences_;
    const std::uint64_t last = event.address + (event.size ? event.size - 1u : 0u);
    pending.pieces =
        static_cast<unsigned>(last / trace::kUnitBytes - event.address / trace::kUnitBytes + 1);
}

void StoreFates::note_flush(std::uint64_t seq, const Event &event)
{
    if (!event.has_address())
        flushes_of_all_.push_back(seq);
    else if (model_.in_flight().find(event.first_line()) != model::kNone)
        flushes_[event.first_line()].push_back(seq);
}

std::optional<std::uint64_t> StoreFates::first_flush(std::uint64_t line, std::uint64_t after) const
{
    const auto known = flushes_.find(line);
    const auto of_line =
        known == flushes_.end() ? std::nullopt : first_behind(known->second, after);
    return earlier(of_line, first_behind(flushes_of_all_, after));
}

void StoreFates::settle(const model::SettledPiece &settled, std::uint64_t seq, const Event &event)
{
    const auto found = pending_.find(settled.piece.seq);
    if (found == pending_.end())
        return;
    Pending &pending = found->second;
    pending.flush(first_flush(settled.line, settled.piece.seq));
    if (--pending.pieces != 0)
        return;
    pending.fate.guaranteed = seq;
    pending.fate.guaranteed_by = event;
    pending.fate.guaranteed_epoch = epoch_;
    pending.fate.fences = fences_ - pending.fences_before;
    fates_.push_back(pending.fate);
    pending_.erase(found);
}

void StoreFates::forget_flushes(std::span<const model::SettledPiece> settled)
{
    const model::InFlight &in_flight = model_.in_flight();
    for (const model::SettledPiece &piece : settled)
        if (in_flight.find(piece.line) == model::kNone)
            flushes_.erase(piece.line);
    if (in_flight.line_count() == 0)
        flushes_of_all_.clear();
}

void StoreFates::give_up()
{
    const model::InFlight &in_flight = model_.in_flight();
    for (std::uint32_t number = in_flight.first_line(); number != model::kNone;
         number = in_flight.line(number).next)
        in_flight.for_each_piece(in_flight.line(number), [&](const model::Piece &piece) {
            pending_[piece.seq].flush(first_flush(in_flight.line(number).line, piece.seq));
        });
    for (auto &[seq, pending] : pending_) {
        pending.fate.fences = fences_ - pending.fences_before;
        fates_.push_back(pending.fate);
    }
    pending_.clear();
    std::ranges::sort(fates_, {}, &StoreFate::seq);
}

} // namespace fencepost::tables
