// SPDX-License-Identifier: GPL-2.0-or-later
// The virtual table `event`: the events of a trace as rows of SQL.
#pragma once

#include "trace/sqlite_api.h"

namespace fencepost::trace {

// Registers module `fencepost_event` on a connection. Its columns are described in schema.sql.
void register_event_table(sqlite3 *database);

} // namespace fencepost::trace
