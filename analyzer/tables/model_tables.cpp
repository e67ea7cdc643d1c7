// SPDX-License-Identifier: GPL-2.0-or-later
// See model_tables.h.
#include "analyzer/tables/model_tables.h"

#include "analyzer/tables/epoch_ends.h"
#include "analyzer/tables/fate_table.h"
#include "trace/tables.h"

namespace fencepost::tables {

void register_tables(sqlite3 *database)
{
    trace::register_tables(database,
                           [](trace::EventScan scan) { return epoch_ends(std::move(scan)); });
    register_fate_table(database);
}

void add_model_tables(const trace::TraceReader &reader)
{
    register_tables(reader.connection());
    // Connected now: a query would be asked whether the columns may be declared, and may only read.
    sqlite3_exec(reader.connection(), "EXPLAIN SELECT 1 FROM store_fate", nullptr, nullptr,
                 nullptr);
}

} // namespace fencepost::tables
