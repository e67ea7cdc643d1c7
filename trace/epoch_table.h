// SPDX-License-Identifier: GPL-2.0-or-later
// The virtual table `epoch_site`: what each site did in each epoch, as rows of SQL.
#pragma once

#include "trace/sqlite_api.h"

namespace fencepost::trace {

// Registers module `fencepost_epoch_site` on a connection. Its columns are described in schema.sql.
void register_epoch_table(sqlite3 *database);

} // namespace fencepost::trace
