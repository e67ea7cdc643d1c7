// SPDX-License-Identifier: GPL-2.0-or-later
// The image of one crash state, made from its trace.
#pragma once

#include "replayer/image/delta_file.h"
#include "replayer/states/crash_state.h"
#include "trace/incidental_fences.h"
#include "trace/reader.h"

namespace fencepost::image {

// Reads the trace up to the state's crash point. `incidental`: those that the state's id has a
// digest of. As StateWalk::check_id() has it for a state of another trace.
ImageDelta delta_of(const trace::TraceReader &reader, const InitialImage &initial,
                    const states::CrashState &state, const trace::IncidentalFences &incidental);

} // namespace fencepost::image
