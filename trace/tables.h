// SPDX-License-Identifier: GPL-2.0-or-later
// The virtual tables of a trace: `event` and `interval_site`.
#pragma once

#include "trace/sqlite_api.h"

namespace fencepost::trace {

// Registers their modules on a connection. Their columns are described in schema.sql.
void register_tables(sqlite3 *database);

} // namespace fencepost::trace
