// SPDX-License-Identifier: GPL-2.0-or-later
// A crash point held open: any of its states as an image, for whoever chooses states by what became
// of others.
#pragma once

#include <functional>
#include <vector>

#include "replayer/image/state_images.h"
#include "replayer/states/level_path.h"
#include "trace/incidental_fences.h"
#include "trace/reader.h"

namespace fencepost::image {

// Good as long as the walk stays there.
class OpenPoint {
public:
    // `opened`: the state it was opened with.
    OpenPoint(const states::CrashState &opened, const states::StateView &view, StateImages &images)
        : opened_(opened), view_(view), images_(images)
    {
    }

    const states::CrashPoint &point() const { return view_.point; }
    const states::ItemTable &items() const { return *view_.items; }
    // Of the state it was opened with.
    states::Levels levels() const { return states::levels_of(view_); }
    // Of a choice that this crash point has.
    states::Levels levels_of(const states::Choice &choice) const;

    states::CrashState state(const states::Levels &levels) const;
    Hash128 identity(const states::Levels &levels);
    // The lines that hold something in flight.
    std::vector<LineContent> lines_in_flight(const states::Levels &levels);
    // With nothing that is in flight: the lines that differ from the initial image, ascending.
    std::vector<LineContent> guaranteed_changes();
    const std::byte *guaranteed(std::uint64_t line)
    {
        return images_.images().guaranteed().line(line);
    }

private:
    template <typename Use> auto with(const states::Levels &levels, Use &&use) const
    {
        const states::Choice choice = states::listed_choice(items(), levels);
        return use(states::StateView{
            view_.point, view_.items, {.base = choice.base, .exceptions = choice.listed}});
    }

    const states::CrashState &opened_;
    const states::StateView &view_;
    StateImages &images_;
};

// Reads the trace up to the state's crash point. As delta_of() has it.
void open_point(const trace::TraceReader &reader, const InitialImage &initial,
                const states::CrashState &state, const trace::IncidentalFences &incidental,
                const std::function<void(OpenPoint &)> &use);

} // namespace fencepost::image
