// SPDX-License-Identifier: GPL-2.0-or-later
// The persistence model by definition: all sets of pieces, and which of them may be in PM. Slow on
// purpose, shares nothing with analyzer/model but its enums, and is never told what happened
// before: every question is answered from the whole trace.
#pragma once

#include <algorithm>
#include <array>
#include <bitset>
#include <cstdint>
#include <span>
#include <vector>

#include "analyzer/model/persistence_model.h"
#include "trace/event.h"

namespace fencepost::model {

class ReferenceModel {
public:
    static constexpr unsigned kMaxPieces = 9;
    using PieceSet = std::uint32_t; // bit p = piece p
    using StateSet =
        std::bitset<1u << kMaxPieces>; // bit S = the state in which PM has the pieces S

    struct Byte {
        std::uint64_t address;
        std::byte value;
    };

    struct Part {
        std::size_t event;
        std::uint64_t line;
        std::uint64_t unit; // address / 8
        std::uint16_t vcpu;
        bool non_temporal;
        std::vector<Byte> bytes; // in order
    };

    ReferenceModel(std::span<const trace::Event> events, std::span<const std::byte> wide_values)
        : events_(events)
    {
        for (std::size_t i = 0; i < events.size(); ++i) {
            if (!events[i].is_store())
                continue;
            const std::span<const std::byte> values = trace::value_of(events[i], wide_values);
            // Byte by byte: a new piece where a new unit begins.
            for (unsigned byte = 0; byte < events[i].size; ++byte) {
                const std::uint64_t address = events[i].address + byte;
                if (byte == 0 || address % 8 == 0)
                    parts_.push_back({i,
                                      address / 64,
                                      address / 8,
                                      events[i].vcpu,
                                      events[i].kind == trace::EventKind::nt_store,
                                      {}});
                parts_.back().bytes.push_back({address, values[byte]});
                first_line_ = std::min(first_line_, address / 64);
            }
        }
    }

    std::span<const Part> parts() const { return parts_; }

    // What must be in PM when `part` is, whatever was flushed or fenced.
    PieceSet needed_by(std::size_t part, ModelKind model) const
    {
        const Part &later = parts_[part];
        PieceSet needed = 0;
        for (std::size_t p = 0; p < parts_.size(); ++p) {
            const Part &other = parts_[p];
            const bool before = p < part;
            const bool same_line = other.line == later.line;
            const bool needs =
                model == ModelKind::line
                    // The line as it was after one of its stores.
                    ? same_line && (before || other.event == later.event)
                    : before && (other.unit == later.unit ||
                                 (same_line && !other.non_temporal && !later.non_temporal));
            if (needs)
                needed |= PieceSet{1} << p;
        }
        return needed;
    }

    // Whether the first `executed` events alone make sure of `part`.
    bool guaranteed(const Part &part, std::size_t executed, ModelKind model, FenceRule rule) const
    {
        if (part.event >= executed)
            return false;
        if (part.non_temporal)
            return fenced(part.vcpu, part.event, executed, rule);
        if (model == ModelKind::eadr)
            return true;
        for (std::size_t i = part.event + 1; i < executed; ++i) {
            const trace::Event &flush = events_[i];
            if (flush.kind != trace::EventKind::flush)
                continue;
            const bool everything = flush.flush_kind() == trace::FlushKind::wbinvd ||
                                    flush.flush_kind() == trace::FlushKind::wbnoinvd;
            if (everything)
                return true;
            if (flush.address / 64 != part.line)
                continue;
            if (flush.flush_kind() == trace::FlushKind::clflush ||
                fenced(flush.vcpu, i, executed, rule))
                return true;
        }
        return false;
    }

    PieceSet executed_parts(std::size_t executed) const
    {
        PieceSet set = 0;
        for (std::size_t p = 0; p < parts_.size(); ++p)
            if (parts_[p].event < executed)
                set |= PieceSet{1} << p;
        return set;
    }

    PieceSet guaranteed_parts(std::size_t executed, ModelKind model, FenceRule rule) const
    {
        PieceSet set = 0;
        for (std::size_t p = 0; p < parts_.size(); ++p)
            if (guaranteed(parts_[p], executed, model, rule))
                set |= PieceSet{1} << p;
        return set;
    }

    // Sets of pieces that lack nothing they need.
    std::vector<PieceSet> closed_sets(ModelKind model) const
    {
        std::array<PieceSet, kMaxPieces> needed = {};
        for (std::size_t p = 0; p < parts_.size(); ++p)
            needed[p] = needed_by(p, model);
        std::vector<PieceSet> closed;
        for (PieceSet set = 0; set < PieceSet{1} << parts_.size(); ++set) {
            bool lacks = false;
            for (std::size_t p = 0; p < parts_.size() && !lacks; ++p)
                lacks = (set >> p & 1) && (needed[p] & ~set);
            if (!lacks)
                closed.push_back(set);
        }
        return closed;
    }

    std::uint64_t first_line() const { return first_line_; }
    // From first_line() on.
    using Image = std::array<std::byte, 4 * 64>;

    Image image(PieceSet set) const
    {
        Image image = {};
        for (std::size_t p = 0; p < parts_.size(); ++p)
            for (const Byte &each : parts_[p].bytes)
                if (set >> p & 1)
                    image.at(each.address - first_line_ * 64) = each.value;
        return image;
    }

    struct States {
        StateSet sets;
        std::size_t count = 0;
    };

    // The states that a power failure can leave: sets that lack nothing they need, of pieces that
    // were written, with all that is guaranteed.
    States states(std::span<const PieceSet> closed, PieceSet executed, PieceSet guaranteed) const
    {
        States legal;
        for (const PieceSet set : closed)
            if ((set & ~executed) == 0 && (guaranteed & ~set) == 0) {
                legal.sets.set(set);
                ++legal.count;
            }
        return legal;
    }

private:
    // A fence that counts, by this vCPU, after event `from` and executed.
    bool fenced(std::uint16_t vcpu, std::size_t from, std::size_t executed, FenceRule rule) const
    {
        for (std::size_t i = from + 1; i < executed; ++i) {
            if (events_[i].kind != trace::EventKind::fence || events_[i].vcpu != vcpu)
                continue;
            switch (events_[i].fence_kind()) {
            case trace::FenceKind::sfence:
            case trace::FenceKind::mfence:
                return true;
            case trace::FenceKind::lock_rmw:
            case trace::FenceKind::xchg:
                if (rule == FenceRule::architectural)
                    return true;
                break;
            default:
                break;
            }
        }
        return false;
    }

    std::span<const trace::Event> events_;
    std::vector<Part> parts_;
    std::uint64_t first_line_ = UINT64_MAX;
};

} // namespace fencepost::model
