// SPDX-License-Identifier: GPL-2.0-or-later
// Where the epochs of a trace end.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/model/model_kind.h"
#include "trace/event_scan.h"

namespace fencepost::tables {

// The events that make something guaranteed that was not, ascending. `scan`: of all events.
std::vector<std::uint64_t> epoch_ends(trace::EventScan scan,
                                      model::ModelKind kind = model::ModelKind::adr,
                                      model::FenceRule rule = model::FenceRule::explicit_only);

} // namespace fencepost::tables
