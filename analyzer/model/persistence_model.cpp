// SPDX-License-Identifier: GPL-2.0-or-later
// See persistence_model.h.
#include "analyzer/model/persistence_model.h"

namespace fencepost::model {

using trace::Event;
using trace::EventKind;
using trace::FlushKind;

bool PersistenceModel::raises_guarantee(const Event &event) const
{
    if (event.is_store())
        return guarantees_.at_once(event);
    if (guarantees_.is_fence(event))
        return in_flight_.non_temporal_count(event.vcpu) != 0 ||
               guarantees_.completes_flush(in_flight_, event.vcpu);
    if (event.kind != EventKind::flush)
        return false;
    if (!event.has_address()) // wbinvd, wbnoinvd
        return in_flight_.cached_count() != 0;
    if (event.flush_kind() != FlushKind::clflush)
        return false;
    const std::uint32_t number = in_flight_.find(event.first_line());
    return number != kNone && in_flight_.has_cached(number);
}

void PersistenceModel::apply(std::uint64_t seq, const Event &event,
                             std::span<const std::byte> wide_values)
{
    in_flight_.clear_settled();
    const auto settle = [this](std::uint32_t number, const Covered &covered) {
        in_flight_.settle(number, covered);
    };
    if (event.is_store()) {
        store(seq, event, trace::value_of(event, wide_values));
    } else if (event.kind == EventKind::flush) {
        const std::uint32_t number =
            event.has_address() ? in_flight_.find(event.first_line()) : kNone;
        guarantees_.flush(in_flight_, seq, event, number, settle);
    } else if (guarantees_.is_fence(event)) {
        guarantees_.fence(event.vcpu, settle);
    }
}

void PersistenceModel::store(std::uint64_t seq, const Event &event,
                             std::span<const std::byte> bytes)
{
    if (guarantees_.at_once(event)) {
        cut(seq, event, bytes, [this](std::uint64_t line, const Piece &piece) {
            const std::uint32_t number = in_flight_.find(line);
            if (number != kNone)
                in_flight_.settle(number, {.units = static_cast<std::uint8_t>(1u << piece.unit())});
            in_flight_.pass(line, piece);
        });
        return;
    }
    cut(seq, event, bytes, [&](std::uint64_t line, Piece &piece) {
        const std::uint64_t end = event.address + event.size;
        const std::uint64_t next = line * trace::kLineBytes + piece.offset + piece.size;
        piece.joined =
            in_flight_.order() == Order::line && next < end && next % trace::kLineBytes != 0;
        const std::uint32_t number = in_flight_.add(line, piece);
        if (piece.non_temporal)
            guarantees_.wait_non_temporal(in_flight_, event.vcpu, number);
    });
}

} // namespace fencepost::model
