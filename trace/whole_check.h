// SPDX-License-Identifier: GPL-2.0-or-later
// Says whether all of a trace can be read, also the parts that no reader has asked for yet.
#pragma once

#include "trace/reader.h"

namespace fencepost::trace {

// Looks at every page of the file and every row of its tables, and at whether each marker event has
// its words. Damage is Error(trace). The events' own blocks and the initial image are left to
// whoever replays them: their digests are checked there.
void check_whole(const TraceReader &reader);

} // namespace fencepost::trace
