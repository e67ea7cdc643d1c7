// SPDX-License-Identifier: GPL-2.0-or-later
// See state_delta.h.
#include "replayer/image/state_delta.h"

#include "replayer/image/image_walk.h"

namespace fencepost::image {

namespace {

struct DeltaListener : ImageListener {
    bool image(ReadyImage &image) override
    {
        delta.identity = image.identity();
        delta.lines = image.difference_from_initial();
        return false;
    }

    ImageDelta delta;
};

} // namespace

ImageDelta delta_of(const trace::TraceReader &reader, const InitialImage &initial,
                    const states::CrashState &state, const trace::IncidentalFences &incidental)
{
    DeltaListener listener;
    ImageWalk(reader, initial, states::options_of(state, incidental), {.labels = false})
        .run_to(state, listener);
    listener.delta.state = states::id_of(state);
    listener.delta.regions.assign(initial.regions().begin(), initial.regions().end());
    return std::move(listener.delta);
}

} // namespace fencepost::image
