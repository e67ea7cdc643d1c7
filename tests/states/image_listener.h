// SPDX-License-Identifier: GPL-2.0-or-later
// For tests that look at each crash state together with its image.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "replayer/image/state_images.h"

namespace fencepost::image {

// Calls a function for each state, with the images at hand.
class Listener : public states::StateListener {
public:
    using Visit = std::function<bool(const states::StateView &, StateImages &)>;

    Listener(const InitialImage &initial, Visit visit) : images_(initial), visit_(std::move(visit))
    {
    }

    void event(std::uint64_t, const trace::Event &event, std::span<const std::byte> wide_values,
               const model::InFlight &in_flight) override
    {
        images_.event(event, wide_values, in_flight);
    }
    void crash_point(const states::CrashPoint &, const states::ItemTable *items,
                     const model::InFlight &in_flight) override
    {
        images_.crash_point(items, in_flight);
        in_flight_ = &in_flight;
    }
    bool state(const states::StateView &state) override { return visit_(state, images_); }
    void epoch(const states::EpochCount &epoch) override { epochs.push_back(epoch); }

    StateImages &images() { return images_; }
    // At the crash point of the state.
    const model::InFlight &in_flight() const { return *in_flight_; }

    std::vector<states::EpochCount> epochs;

private:
    StateImages images_;
    Visit visit_;
    const model::InFlight *in_flight_ = nullptr;
};

} // namespace fencepost::image
