// SPDX-License-Identifier: GPL-2.0-or-later
// See adr_model.h.
#include "analyzer/model/adr_model.h"

#include <algorithm>

namespace fencepost::model {

using trace::Event;
using trace::EventKind;
using trace::FlushKind;

namespace {

// Without fences, entries that mean nothing any more would pile up; this keeps them below a
// multiple of what is in flight.
bool too_many(std::size_t entries, std::size_t lines)
{
    return entries > 4096 && entries > 4 * lines;
}

} // namespace

AdrModel::Pending &AdrModel::pending(std::uint16_t vcpu)
{
    if (vcpu >= pending_.size())
        pending_.resize(vcpu + 1u);
    return pending_[vcpu];
}

bool AdrModel::is_effective(const Flush &flush) const
{
    const std::uint32_t number = in_flight_.find(flush.line);
    return number != kNone && in_flight_.has_cached_before(in_flight_.line(number), flush.seq);
}

bool AdrModel::raises_guarantee(const Event &event) const
{
    if (is_fence(event)) {
        if (in_flight_.non_temporal_count(event.vcpu) != 0)
            return true;
        if (event.vcpu >= pending_.size())
            return false;
        const std::vector<Flush> &flushes = pending_[event.vcpu].flushes;
        return std::any_of(flushes.begin(), flushes.end(),
                           [this](const Flush &flush) { return is_effective(flush); });
    }
    if (event.kind != EventKind::flush)
        return false;
    switch (event.flush_kind()) {
    case FlushKind::clflush: {
        const std::uint32_t number = in_flight_.find(event.first_line());
        return number != kNone && in_flight_.line(number).cached != 0;
    }
    case FlushKind::wbinvd:
    case FlushKind::wbnoinvd:
        return in_flight_.cached_count() != 0;
    default:
        return false;
    }
}

void AdrModel::do_apply(std::uint64_t seq, const Event &event, std::span<const std::byte> bytes)
{
    if (event.is_store())
        store(seq, event, bytes);
    else if (event.kind == EventKind::flush)
        flush(seq, event);
    else if (is_fence(event))
        fence(event.vcpu);
}

void AdrModel::store(std::uint64_t seq, const Event &event, std::span<const std::byte> bytes)
{
    cut(seq, event, bytes, [&](std::uint64_t line, Piece &piece) {
        const std::uint64_t end = event.address + event.size;
        const std::uint64_t next = line * trace::kLineBytes + piece.offset + piece.size;
        piece.joined =
            in_flight_.order() == Order::line && next < end && next % trace::kLineBytes != 0;
        in_flight_.add(line, piece);
        if (!piece.non_temporal)
            return;
        Pending &waiting = pending(event.vcpu);
        std::vector<std::uint64_t> &lines = waiting.non_temporal_lines;
        if (lines.empty() || lines.back() != line) {
            lines.push_back(line);
            if (too_many(lines.size(), in_flight_.line_count()))
                prune(waiting);
        }
    });
}

void AdrModel::flush(std::uint64_t seq, const Event &event)
{
    const FlushKind kind = event.flush_kind();
    if (kind == FlushKind::wbinvd || kind == FlushKind::wbnoinvd) {
        flush_everything(seq);
        return;
    }
    const std::uint64_t line = event.first_line();
    const std::uint32_t number = in_flight_.find(line);
    if (number == kNone)
        return;
    InFlightLine &state = in_flight_.line(number);
    if (kind == FlushKind::clflush) {
        if (state.cached != 0)
            in_flight_.settle(number, {.cached_before = seq});
    } else if (state.cached != 0) {
        note_flush(seq, event.vcpu, line, state);
    }
}

void AdrModel::note_flush(std::uint64_t seq, std::uint16_t vcpu, std::uint64_t line,
                          InFlightLine &state)
{
    Pending &waiting = pending(vcpu);
    std::vector<Flush> &flushes = waiting.flushes;
    // A line flushed over and over needs one entry.
    const bool again = state.flush != 0 && state.flush_vcpu == vcpu &&
                       state.flush_entry < flushes.size() &&
                       flushes[state.flush_entry].line == line;
    state.flush = seq + 1;
    if (again) {
        flushes[state.flush_entry].seq = seq;
        return;
    }
    state.flush_vcpu = vcpu;
    state.flush_entry = static_cast<std::uint32_t>(flushes.size());
    flushes.push_back({line, seq});
    if (too_many(flushes.size(), in_flight_.line_count()))
        prune(waiting);
}

void AdrModel::flush_everything(std::uint64_t seq)
{
    for (std::uint32_t number = in_flight_.first_line(); number != kNone;) {
        const std::uint32_t next = in_flight_.line(number).next;
        if (in_flight_.line(number).cached != 0)
            in_flight_.settle(number, {.cached_before = seq});
        number = next;
    }
}

void AdrModel::fence(std::uint16_t vcpu)
{
    if (vcpu >= pending_.size())
        return;
    Pending &waiting = pending_[vcpu];
    for (const Flush &flush : waiting.flushes) {
        const std::uint32_t number = in_flight_.find(flush.line);
        if (number != kNone)
            in_flight_.settle(number, {.cached_before = flush.seq});
    }
    waiting.flushes.clear();
    for (const std::uint64_t line : waiting.non_temporal_lines) {
        const std::uint32_t number = in_flight_.find(line);
        if (number != kNone && in_flight_.line(number).non_temporal != 0)
            in_flight_.settle(number, {.non_temporal_of = vcpu});
    }
    waiting.non_temporal_lines.clear();
}

void AdrModel::prune(Pending &waiting)
{
    std::vector<Flush> &flushes = waiting.flushes;
    std::sort(flushes.begin(), flushes.end(), [](const Flush &a, const Flush &b) {
        return a.line != b.line ? a.line < b.line : a.seq > b.seq;
    });
    // The later flush of a line covers what the earlier one does.
    flushes.erase(std::unique(flushes.begin(), flushes.end(),
                              [](const Flush &a, const Flush &b) { return a.line == b.line; }),
                  flushes.end());
    std::erase_if(flushes, [this](const Flush &flush) { return !is_effective(flush); });
    std::vector<std::uint64_t> &lines = waiting.non_temporal_lines;
    std::sort(lines.begin(), lines.end());
    lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
    std::erase_if(lines, [this](std::uint64_t line) { return in_flight_.find(line) == kNone; });
}

} // namespace fencepost::model
