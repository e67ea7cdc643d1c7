// SPDX-License-Identifier: GPL-2.0-or-later
// Whether a state that is legal when only explicit fences count could also be found if locked
// instructions (and incidental fences) counted. One that could not relies on such an instruction.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "analyzer/model/persistence_model.h"
#include "replayer/states/crash_points.h"
#include "replayer/states/state_view.h"

namespace fencepost::states {

// Goes along with a walk and runs the stricter model beside it. A state with the pieces S can be
// found under the stricter model, and under the same promise, exactly if there is a crash point p
// since the promise last changed, after all pieces of S and not after any event that guarantees a
// piece which S lacks. So it is enough to know, for each piece in flight, which event guarantees it
// under the stricter model. A store of what was there already makes no image another one, so it
// counts neither as one of S nor as one that S lacks.
class Legality {
public:
    // `promise`: that of the walk.
    explicit Legality(model::ModelKind kind, PromiseAt promise = {});

    // `in_flight`: of the walk, after the event. `changes`: false for a store that changes nothing.
    void event(std::uint64_t seq, const trace::Event &event, std::span<const std::byte> wide_values,
               const model::InFlight &in_flight, bool changes = true);
    void crash_point(const model::InFlight &in_flight);
    bool legal_architecturally(const StateView &state);

private:
    // A piece that is in flight for the walk, and guaranteed under the stricter model.
    struct Early {
        std::uint64_t seq;
        std::uint8_t offset;
        std::uint64_t guaranteed; // by this event
    };
    // The same at the crash point.
    struct Floor {
        std::uint32_t cell;
        std::uint32_t unit;
        std::uint32_t count; // so many pieces of the unit, with this one
        std::uint64_t guaranteed;
    };
    struct LatePiece {
        std::uint64_t seq;
        std::uint32_t cell;
        std::uint32_t unit;
        std::uint32_t count;
    };

    void forget_silent(const model::InFlight &in_flight);
    bool is_silent(const model::Piece &piece) const
    {
        return !silent_.empty() && silent_.contains(piece.seq);
    }
    void forget(const model::SettledPiece &settled);
    // The first event that guarantees a piece which the state lacks.
    std::uint64_t first_guarantee(const StateView &state) const;
    bool has_piece_from(const StateView &state, std::uint64_t seq);
    void find_late_pieces();
    model::UnitCounts counts_of(const StateView &state, std::uint32_t cell) const;

    const PromiseAt promise_;
    std::unique_ptr<model::PersistenceModel> strict_;
    std::unordered_map<std::uint64_t, std::vector<Early>> early_; // by line, in the line's order
    std::unordered_set<std::uint64_t> silent_; // stores in flight that change nothing, and others
    std::uint64_t promise_since_ = 0;          // the first crash point with the current promise
    std::uint64_t settled_before_ = 0; // all that is guaranteed was stored before this event
    // Of the crash point.
    const model::InFlight *in_flight_ = nullptr;
    std::vector<Floor> floors_; // by cell
    std::uint64_t first_floor_ = UINT64_MAX;
    std::optional<std::vector<LatePiece>> late_; // stored after first_floor_, the latest first
};

} // namespace fencepost::states
