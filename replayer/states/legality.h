// SPDX-License-Identifier: GPL-2.0-or-later
// Whether a state that is legal when only explicit fences count would be legal if locked
// instructions counted too. One that would not relies on an incidental locked instruction.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "analyzer/model/persistence_model.h"
#include "replayer/states/state_walk.h"

namespace fencepost::states {

// Goes along with a walk and runs the stricter model beside it.
class Legality {
public:
    explicit Legality(model::ModelKind kind)
        : model_(model::make_model(kind, model::FenceRule::architectural))
    {
    }

    void event(std::uint64_t seq, const trace::Event &event, std::span<const std::byte> wide_values)
    {
        model_->apply(seq, event, wide_values);
    }
    void crash_point(const model::InFlight &in_flight);
    bool legal_architecturally(const State &state) const;

private:
    // A line of which the stricter model guarantees more.
    struct Floor {
        std::size_t cell;
        model::UnitCounts least;
    };

    std::unique_ptr<model::PersistenceModel> model_;
    std::vector<Floor> floors_;
};

} // namespace fencepost::states
