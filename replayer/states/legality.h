// SPDX-License-Identifier: GPL-2.0-or-later
// Whether an image that is legal when only explicit fences count could also be found if locked
// instructions (and incidental fences) counted. One that could not relies on such an instruction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "analyzer/model/persistence_model.h"
#include "replayer/states/crash_points.h"
#include "replayer/states/line_points.h"
#include "replayer/states/settled_history.h"
#include "replayer/states/state_view.h"

namespace fencepost::states {

// Goes along with a walk and runs the stricter model beside it. A state's image can be found under
// the stricter model, and under the same promise, exactly if there is a crash point p, since the
// promise last changed and not after the state's own, at which each line can hold its bytes
// (LinePoints). Lines are independent, and the last such p is before an event that guarantees
// something, or the state's own: few crash points need be looked at. As long as no event has
// guaranteed anything early, none.
class Legality {
public:
    // The line's 64 bytes as they are guaranteed for the walk; nullptr: not in PM.
    using LineBytes = std::function<const std::byte *(std::uint64_t line)>;

    // `promise`: that of the walk.
    Legality(model::ModelKind kind, LineBytes guaranteed, PromiseAt promise = {});

    void event(std::uint64_t seq, const trace::Event &event,
               std::span<const std::byte> wide_values);
    // Then for each piece that the event has settled for the walk, in order, before the guaranteed
    // bytes have it.
    void settle(const model::SettledPiece &settled);
    // `in_flight`: of the walk.
    void crash_point(const model::InFlight &in_flight);
    bool legal_architecturally(const StateView &state);

private:
    // A piece that is in flight for the walk, and guaranteed under the stricter model.
    struct Early {
        std::uint64_t seq;
        std::uint8_t offset;
        std::uint64_t guaranteed; // by this event
    };
    // So many pieces of the units of a line are guaranteed early.
    struct Floor {
        std::uint32_t cell;
        model::UnitCounts least;
    };
    // With nothing of what is in flight, or all of it.
    struct OfBase {
        std::vector<std::uint8_t> possible;    // by cell, by point
        std::vector<std::uint32_t> impossible; // by point: how many cells

        std::span<const std::uint8_t> of_cell(std::uint32_t cell) const
        {
            return std::span(possible).subspan(cell * impossible.size(), impossible.size());
        }
    };

    std::uint64_t forget_early(const model::SettledPiece &settled);
    bool lacks_early(const StateView &state) const;
    model::UnitCounts counts_of(const StateView &state, std::uint32_t cell) const;

    void prepare();
    void find_points();
    void find_base(std::uint32_t number, const model::UnitCounts &counts, OfBase &base);
    void find_line(std::uint32_t number, const model::UnitCounts &counts);
    std::span<const std::uint8_t> possible_in(const StateView &state, std::uint32_t cell);
    // From the first of the points on.
    const LineHistory &history_of(std::uint64_t line);
    std::span<const SettledHistory::Entry *const> settled_in(std::uint64_t line) const;

    const PromiseAt promise_;
    const LineBytes guaranteed_;
    std::unique_ptr<model::PersistenceModel> strict_;
    std::unordered_map<std::uint64_t, std::vector<Early>> early_; // by line, in the line's order
    SettledHistory history_;                                      // since the promise changed
    std::uint64_t next_ = 0;                                      // the event after the latest one
    // Of the crash point.
    const model::InFlight *in_flight_ = nullptr;
    std::vector<Floor> floors_;                          // by cell
    bool ready_ = false;                                 // what follows is known
    std::vector<std::uint64_t> points_;                  // ascending
    std::vector<const SettledHistory::Entry *> settled_; // by line
    OfBase none_;
    OfBase all_;
    // Scratch.
    LinePoints line_points_;
    LineHistory line_;
    std::vector<std::uint8_t> possible_;    // by point
    std::vector<std::uint32_t> impossible_; // by point
};

} // namespace fencepost::states
