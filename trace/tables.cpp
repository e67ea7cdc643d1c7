// SPDX-License-Identifier: GPL-2.0-or-later
// See tables.h.
#include "trace/tables.h"

#include "trace/event_table.h"
#include "trace/interval_table.h"
#include "trace/schema.h"
#include "trace/system_calls.h"
#include "trace/table_module.h"

namespace fencepost::trace {

void check_table_version(const TraceTable &table)
{
    Statement version(table.database, "PRAGMA " + quoted_name(table.schema) + ".user_version");
    if (!version.step() || version.integer(0) != kFormatVersion)
        fail(ErrorKind::trace, "this database is not a trace of format {}", kFormatVersion);
}

namespace {

// NULL of what is no number, as SQLite's own functions do.
void name_system_call(sqlite3_context *context, int, sqlite3_value **arguments) noexcept
{
    if (sqlite3_value_type(arguments[0]) != SQLITE_INTEGER)
        return;
    try {
        result_text(context, system_call_name(sqlite3_value_int64(arguments[0])));
    } catch (const std::bad_alloc &) {
        sqlite3_result_error_nomem(context);
    }
}

} // namespace

void register_tables(sqlite3 *database, EpochEnds epoch_ends)
{
    register_event_table(database, std::move(epoch_ends));
    register_interval_table(database);
    const int code = sqlite3_create_function_v2(
        database, "system_call_name", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
        nullptr, name_system_call, nullptr, nullptr, nullptr);
    if (code != SQLITE_OK)
        fail_sqlite(database, code);
}

} // namespace fencepost::trace
