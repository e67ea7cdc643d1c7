// SPDX-License-Identifier: GPL-2.0-or-later
// The persistence models: which stores a power failure can lose, learned event by event.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "analyzer/model/guarantees.h"
#include "analyzer/model/in_flight.h"

namespace fencepost::model {

// One pass over a trace. The states that a power failure can leave just before an event are told by
// in_flight() before the event is applied (LineChoices says which states of a line are legal; lines
// are independent). Events that do not raise a guarantee only add states, so it is enough to look
// before those that do, and at the end. LastWrites follows the same model and keeps less.
class PersistenceModel {
public:
    PersistenceModel(ModelKind kind, FenceRule rule)
        : kind_(kind), rule_(rule), guarantees_(kind, rule),
          in_flight_(kind == ModelKind::line ? Order::line : Order::units)
    {
    }

    ModelKind kind() const { return kind_; }
    FenceRule fence_rule() const { return rule_; }

    // Whether `event`, applied now, makes anything guaranteed that was not: an epoch ends with it.
    bool raises_guarantee(const trace::Event &event) const;

    // Events come in the order of the trace with ascending seq. in_flight().settled() is then what
    // this event made guaranteed.
    void apply(std::uint64_t seq, const trace::Event &event,
               std::span<const std::byte> wide_values);

    const InFlight &in_flight() const { return in_flight_; }
    void forget_changes() { in_flight_.forget_changes(); }

private:
    void store(std::uint64_t seq, const trace::Event &event, std::span<const std::byte> bytes);

    const ModelKind kind_;
    const FenceRule rule_;
    Guarantees guarantees_;
    InFlight in_flight_;
};

// Calls visit(line, piece) for the pieces of a store. Bytes left out by the reader count as zero.
template <typename Visit>
void cut(std::uint64_t seq, const trace::Event &event, std::span<const std::byte> bytes,
         Visit &&visit)
{
    Piece piece;
    piece.seq = seq;
    piece.site = event.site;
    piece.stack = event.stack;
    piece.vcpu = event.vcpu;
    piece.non_temporal = event.kind == trace::EventKind::nt_store;
    if (event.address % trace::kUnitBytes + event.size <= trace::kUnitBytes) [[likely]] {
        piece.value = event.value;
        piece.offset = event.address % trace::kLineBytes;
        piece.size = event.size;
        visit(event.first_line(), piece);
        return;
    }
    for (unsigned done = 0; done < event.size; done += piece.size) {
        const std::uint64_t address = event.address + done;
        const unsigned room = trace::kUnitBytes - address % trace::kUnitBytes;
        const unsigned left = event.size - done;
        piece.offset = address % trace::kLineBytes;
        piece.size = static_cast<std::uint8_t>(left < room ? left : room);
        piece.value = 0;
        if (!bytes.empty())
            std::memcpy(&piece.value, bytes.data() + done, piece.size);
        visit(address / trace::kLineBytes, piece);
    }
}

} // namespace fencepost::model
