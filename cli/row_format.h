// SPDX-License-Identifier: GPL-2.0-or-later
// The rows of a query on stdout: as a table for people, as CSV, as JSON.
#pragma once

#include "trace/query.h"

namespace fencepost::cli {

enum class RowFormat { table, csv, json };

// Prints all rows while the query runs; memory does not grow with their number. Ends early, without
// a word, when nobody reads any more.
void print_rows(trace::Query &query, RowFormat format);

} // namespace fencepost::cli
