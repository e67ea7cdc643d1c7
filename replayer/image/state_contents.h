// SPDX-License-Identifier: GPL-2.0-or-later
// One crash state laid open: what was in flight at its crash point, and what of it is in PM.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "replayer/image/initial_image.h"
#include "replayer/image/line_hash.h"
#include "replayer/states/crash_state.h"
#include "replayer/states/items.h"
#include "trace/incidental_fences.h"
#include "trace/reader.h"

namespace fencepost::image {

// The part of a store that is in one unit.
struct StatePiece {
    trace::EventRef store;
    bool persisted = false;
    bool non_temporal = false;
    unsigned vcpu = 0;
    std::uint64_t address = 0;
    unsigned size = 0;
    std::uint64_t value = 0;
};

struct StateLine {
    std::uint64_t line = 0;
    std::vector<StatePiece> pieces = {}; // of an item that is a unit: those of the unit
};

struct StateItem {
    states::Item::Kind kind = states::Item::Kind::chain;
    std::uint64_t level = 0;
    std::uint64_t levels = 0;
    std::optional<states::RunPart> part = {}; // of a run
    std::vector<StateLine> lines = {};
};

struct StateContents {
    states::CrashState state;
    std::uint64_t epoch = 0;
    bool architectural = false;      // false: it relies on an incidental locked instruction
    Hash128 identity = {};           // of its image
    std::uint64_t lines_changed = 0; // since the initial image
    std::vector<StateItem> items = {};
};

// As delta_of().
StateContents contents_of(const trace::TraceReader &reader, const InitialImage &initial,
                          const states::CrashState &state,
                          const trace::IncidentalFences &incidental);

} // namespace fencepost::image
