// SPDX-License-Identifier: GPL-2.0-or-later
// See open_point.h.
#include "replayer/image/open_point.h"

#include "replayer/states/enumeration.h"

namespace fencepost::image {

namespace {

class Opener : public states::StateListener {
public:
    Opener(const InitialImage &initial, const states::CrashState &state,
           const std::function<void(OpenPoint &)> &use)
        : images_(initial), state_(state), use_(use)
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
    }
    bool state(const states::StateView &view) override
    {
        OpenPoint point(state_, view, images_);
        use_(point);
        return false;
    }

private:
    StateImages images_;
    const states::CrashState &state_;
    const std::function<void(OpenPoint &)> &use_;
};

} // namespace

states::Levels OpenPoint::levels_of(const states::Choice &choice) const
{
    states::Levels levels;
    states::Enumeration(items(), point().seq, 1, [&](const states::ChosenLevels &chosen) {
        levels = states::levels_of(states::StateView{view_.point, view_.items, chosen});
        return false;
    }).run(choice);
    return levels;
}

states::CrashState OpenPoint::state(const states::Levels &levels) const
{
    states::CrashState state = opened_;
    state.choice = states::listed_choice(items(), levels);
    return state;
}

Hash128 OpenPoint::identity(const states::Levels &levels)
{
    return with(levels, [&](const states::StateView &view) { return images_.hash(view); });
}

std::vector<LineContent> OpenPoint::lines_in_flight(const states::Levels &levels)
{
    return with(levels, [&](const states::StateView &view) {
        std::vector<LineContent> lines;
        images_.lines_in_flight(view, lines);
        return lines;
    });
}

std::vector<LineContent> OpenPoint::guaranteed_changes()
{
    return with(states::levels_of(items(), states::Base::none), [&](const states::StateView &view) {
        return images_.difference_from_initial(view);
    });
}

void open_point(const trace::TraceReader &reader, const InitialImage &initial,
                const states::CrashState &state, const trace::IncidentalFences &incidental,
                const std::function<void(OpenPoint &)> &use)
{
    Opener opener(initial, state, use);
    states::StateWalk(reader, states::options_of(state, incidental)).run_to(state, opener);
}

} // namespace fencepost::image
