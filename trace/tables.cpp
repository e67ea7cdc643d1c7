// SPDX-License-Identifier: GPL-2.0-or-later
// See tables.h.
#include "trace/tables.h"

#include "trace/event_table.h"
#include "trace/interval_table.h"
#include "trace/schema.h"
#include "trace/table_module.h"

namespace fencepost::trace {

void check_table_version(const TraceTable &table)
{
    Statement version(table.database, "PRAGMA " + quoted_name(table.schema) + ".user_version");
    if (!version.step() || version.integer(0) != kFormatVersion)
        fail(ErrorKind::trace, "this database is not a trace of format {}", kFormatVersion);
}

void register_tables(sqlite3 *database)
{
    register_event_table(database);
    register_interval_table(database);
}

} // namespace fencepost::trace
