// SPDX-License-Identifier: GPL-2.0-or-later
// The entry point of the loadable extension `fencepost_trace`: the virtual tables in any SQLite
// program.
#include <exception>

#include <sqlite3ext.h>

SQLITE_EXTENSION_INIT1

#include "analyzer/tables/model_tables.h"

// The name follows from the file's: SQLite keeps its letters.
extern "C" __attribute__((visibility("default"))) int
sqlite3_fenceposttrace_init(sqlite3 *database, char **message, const sqlite3_api_routines *api)
{
    SQLITE_EXTENSION_INIT2(api);
    try {
        fencepost::tables::register_tables(database);
        return SQLITE_OK;
    } catch (const std::exception &error) {
        *message = sqlite3_mprintf("%s", error.what());
        return SQLITE_ERROR;
    }
}
