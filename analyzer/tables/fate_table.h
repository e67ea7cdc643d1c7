// SPDX-License-Identifier: GPL-2.0-or-later
// The virtual table `store_fate`.
#pragma once

#include "trace/sqlite_api.h"

namespace fencepost::tables {

// Makes it available on a connection. Its columns are described in docs/reference/sql-tables.md.
void register_fate_table(sqlite3 *database);

} // namespace fencepost::tables
