// SPDX-License-Identifier: GPL-2.0-or-later
// The persistence models: which stores a power failure can lose, learned event by event.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "analyzer/model/in_flight.h"
#include "trace/fence_rule.h"

namespace fencepost::model {

enum class ModelKind : std::uint8_t { adr, eadr, line };

using trace::counts_as_fence;
using trace::fence_rule_named;
using trace::FenceRule;

std::string_view name_of(ModelKind kind);
std::optional<ModelKind> model_named(std::string_view name);

// One pass over a trace. The states that a power failure can leave just before an event are told by
// in_flight() before the event is applied (LineChoices says which states of a line are legal; lines
// are independent). Events that do not raise a guarantee only add states, so it is enough to look
// before those that do, and at the end.
class PersistenceModel {
public:
    virtual ~PersistenceModel() = default;

    ModelKind kind() const { return kind_; }
    FenceRule fence_rule() const { return rule_; }

    // Whether `event`, applied now, makes anything guaranteed that was not: an epoch ends with it.
    virtual bool raises_guarantee(const trace::Event &event) const = 0;

    // Events come in the order of the trace with ascending seq. in_flight().settled() is then what
    // this event made guaranteed.
    void apply(std::uint64_t seq, const trace::Event &event, std::span<const std::byte> wide_values)
    {
        in_flight_.clear_settled();
        if (event.kind == trace::EventKind::marker || event.kind == trace::EventKind::load)
            return;
        do_apply(seq, event, trace::value_of(event, wide_values));
    }

    const InFlight &in_flight() const { return in_flight_; }
    void forget_changes() { in_flight_.forget_changes(); }

protected:
    PersistenceModel(ModelKind kind, FenceRule rule, Order order)
        : kind_(kind), rule_(rule), in_flight_(order)
    {
    }
    virtual void do_apply(std::uint64_t seq, const trace::Event &event,
                          std::span<const std::byte> bytes) = 0;
    bool is_fence(const trace::Event &event) const { return counts_as_fence(event, rule_); }

    const ModelKind kind_;
    const FenceRule rule_;
    InFlight in_flight_;
};

std::unique_ptr<PersistenceModel> make_model(ModelKind kind, FenceRule rule);

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
