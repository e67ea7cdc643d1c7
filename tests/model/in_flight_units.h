// SPDX-License-Identifier: GPL-2.0-or-later
// LastWrites against the definition: after every event the same units in flight, each with its last
// write, and no byte in flight that LastWrites has not. With cached stores of one vCPU the same
// bytes.
#pragma once

#include <algorithm>
#include <array>
#include <map>

#include <fmt/core.h>

#include "analyzer/model/last_writes.h"
#include "tests/model/promised_states.h"
#include "tests/model/reference_model.h"

namespace fencepost::model {

class InFlightUnits {
public:
    InFlightUnits(std::span<const trace::Event> events, const ReferenceModel &reference,
                  ModelKind kind, FenceRule rule)
        : events_(events), reference_(reference), kind_(kind), rule_(rule), writes_(kind, rule)
    {
        for (std::size_t part = 0; part < reference.parts().size(); ++part)
            needed_[part] = reference.needed_by(part, kind);
        same_bytes_ = std::all_of(events.begin(), events.end(), [&](const trace::Event &event) {
            return event.vcpu == events[0].vcpu && event.kind != trace::EventKind::nt_store;
        });
    }

    // Returns how many units were compared.
    std::uint64_t compare()
    {
        std::uint64_t compared = 0;
        for (std::size_t executed = 0;; ++executed) {
            compared += compare_after(executed);
            if (executed == events_.size())
                return compared;
            apply(executed);
        }
    }

private:
    using PieceSet = ReferenceModel::PieceSet;

    void apply(std::uint64_t seq)
    {
        const trace::Event &event = events_[seq];
        left_.clear();
        if (event.is_store()) {
            cut_lines(event, [&](const LinePart &part) {
                std::uint32_t &number = numbers_[part.line];
                if (writes_.at_once(event)) {
                    writes_.pass(part.line, part.units, number);
                    return;
                }
                number = writes_.open(part.line, number);
                writes_.write(seq, event, part, number, [](const WrittenLine &, std::uint64_t) {});
            });
        } else if (event.kind == trace::EventKind::flush) {
            writes_.flush(seq, event, event.has_address() ? numbers_[event.first_line()] : 0);
        } else if (event.kind == trace::EventKind::fence) {
            before_ = units_in_flight();
            writes_.fence(seq, event, [&](const WrittenLine &line, std::uint8_t units) {
                left_[line.line] |= units;
            });
            if (left_ != difference(before_, units_in_flight()))
                differ("a fence tells of other units than those that leave flight", seq + 1);
        }
    }

    using Units = std::map<std::uint64_t, unsigned>; // by line; none is 0

    Units units_in_flight() const
    {
        Units units;
        writes_.for_each([&](const WrittenLine &line) { units[line.line] = line.in_flight(); });
        return units;
    }

    static Units difference(const Units &before, const Units &after)
    {
        Units left;
        for (const auto &[line, units] : before) {
            const auto still = after.find(line);
            if (const unsigned gone = units & ~(still == after.end() ? 0 : still->second))
                left[line] = gone;
        }
        return left;
    }

    // All that every state has.
    PieceSet mandatory(std::size_t executed, FenceRule rule) const
    {
        PieceSet set = reference_.guaranteed_parts(executed, kind_, rule);
        for (std::size_t part = reference_.parts().size(); part-- > 0;)
            if (set >> part & 1)
                set |= needed_[part];
        return set;
    }

    std::uint64_t bytes_of(const ReferenceModel::Part &part) const
    {
        std::uint64_t bytes = 0;
        const trace::Event &store = events_[part.event];
        for (std::uint64_t at = store.address; at < store.address + store.size; ++at)
            if (at / trace::kUnitBytes == part.unit)
                bytes |= std::uint64_t{1} << at % trace::kLineBytes;
        return bytes;
    }

    std::uint64_t compare_after(std::size_t executed)
    {
        const PieceSet guaranteed = mandatory(executed, rule_);
        const PieceSet if_locks_count = mandatory(executed, FenceRule::architectural);
        std::map<std::uint64_t, std::size_t> last;        // part, by unit
        std::map<std::uint64_t, std::uint64_t> in_flight; // bytes, by unit
        for (std::size_t part = 0; part < reference_.parts().size(); ++part) {
            const ReferenceModel::Part &one = reference_.parts()[part];
            if (one.event >= executed)
                break;
            last[one.unit] = part;
            std::uint64_t &bytes = in_flight[one.unit];
            bytes = guaranteed >> part & 1 ? bytes & ~bytes_of(one) : bytes | bytes_of(one);
        }
        for (const auto &[unit, part] : last)
            compare_unit(executed, reference_.parts()[part], in_flight[unit],
                         guaranteed >> part & 1, if_locks_count >> part & 1);
        return last.size();
    }

    void compare_unit(std::size_t executed, const ReferenceModel::Part &last, std::uint64_t bytes,
                      bool guaranteed, bool guaranteed_if_locks_count)
    {
        const unsigned unit = last.unit % kUnitsPerLine;
        const WrittenLine *line = writes_.find(last.line, numbers_[last.line]);
        const bool in_flight = line && (line->in_flight() >> unit & 1);
        if (in_flight == guaranteed)
            differ(in_flight ? "a unit in flight that is guaranteed"
                             : "a unit that is not in flight and not guaranteed",
                   executed);
        const std::uint64_t found =
            line ? line->bytes & std::uint64_t{0xff} << unit * trace::kUnitBytes : 0;
        if ((bytes & ~found) || (found != 0) != in_flight || (same_bytes_ && found != bytes))
            differ("other bytes in flight", executed);
        if (!in_flight)
            return;
        const UnitWrite &write = line->writes[unit];
        if (write.seq() != last.event || write.vcpu() != last.vcpu ||
            (line->nt >> unit & 1) != last.non_temporal)
            differ("another last write", executed);
        if (writes_.relies_on_lock(*line, unit) && !guaranteed_if_locks_count)
            differ("a locked instruction that guarantees nothing", executed);
    }

    [[noreturn]] void differ(const char *what, std::size_t executed) const
    {
        throw Difference(fmt::format("{} after {} events, last writes, model {}, fences {}", what,
                                     executed, name_of(kind_), name_of(rule_)));
    }

    const std::span<const trace::Event> events_;
    const ReferenceModel &reference_;
    const ModelKind kind_;
    const FenceRule rule_;
    std::array<PieceSet, ReferenceModel::kMaxPieces> needed_ = {};
    bool same_bytes_ = false;
    LastWrites writes_;
    std::map<std::uint64_t, std::uint32_t> numbers_; // of lines
    Units before_;
    Units left_;
};

} // namespace fencepost::model
