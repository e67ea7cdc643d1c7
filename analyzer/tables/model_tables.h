// SPDX-License-Identifier: GPL-2.0-or-later
// What SQL over a trace has from the persistence model: column `epoch` of `event`, and
// `store_fate`.
#pragma once

#include "trace/reader.h"
#include "trace/sqlite_api.h"

namespace fencepost::tables {

// On a connection whose trace has not been queried yet; with the trace's own tables.
void register_tables(sqlite3 *database);
// For trace::Query.
void add_model_tables(const trace::TraceReader &reader);

} // namespace fencepost::tables
