// SPDX-License-Identifier: GPL-2.0-or-later
// The virtual table `interval_site`: what each site did in each fence interval, as rows of SQL.
#pragma once

#include "trace/sqlite_api.h"

namespace fencepost::trace {

// Registers module `fencepost_interval_site` on a connection. Its columns are described in
// schema.sql.
void register_interval_table(sqlite3 *database);

} // namespace fencepost::trace
