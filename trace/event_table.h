// SPDX-License-Identifier: GPL-2.0-or-later
// The virtual table `event`: the events of a trace as rows of SQL.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "trace/event_scan.h"
#include "trace/sqlite_api.h"

namespace fencepost::trace {

// The events, ascending, that end an epoch. Which do is the persistence model's to say, and that is
// none of the trace's.
using EpochEnds = std::function<std::vector<std::uint64_t>(EventScan)>;

// Registers module `fencepost_event` on a connection. Its columns are described in schema.sql.
// Without `epoch_ends`, asking for column `epoch` is an error.
void register_event_table(sqlite3 *database, EpochEnds epoch_ends = {});

} // namespace fencepost::trace
