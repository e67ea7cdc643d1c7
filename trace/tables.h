// SPDX-License-Identifier: GPL-2.0-or-later
// The virtual tables of a trace: `event` and `interval_site`, and the function
// `system_call_name(number)`.
#pragma once

#include "trace/event_table.h"
#include "trace/sqlite_api.h"

namespace fencepost::trace {

// Registers their modules on a connection. Their columns are described in schema.sql. Once more
// with `epoch_ends`, before the first query: `event` knows epochs then.
void register_tables(sqlite3 *database, EpochEnds epoch_ends = {});

} // namespace fencepost::trace
