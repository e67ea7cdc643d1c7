// SPDX-License-Identifier: GPL-2.0-or-later
// See inlined_calls.h.
#include "trace/inlined_calls.h"

#include "trace/database.h"

namespace fencepost::trace {

namespace {

constexpr std::size_t kMostDepth = 64; // no compiler goes so far

} // namespace

bool has_inlined_calls(sqlite3 *database)
{
    return Statement(database, "SELECT 1 FROM sqlite_schema WHERE name = 'inlined_call'").step();
}

InlinedCalls inlined_calls(const TraceReader &reader)
{
    InlinedCalls calls;
    if (!has_inlined_calls(reader.connection()))
        return calls;
    Statement row(reader.connection(),
                  "SELECT address_space, pc, function, source_file, source_line FROM inlined_call"
                  " ORDER BY address_space, pc, depth");
    while (row.step()) {
        std::vector<InlinedCall> &chain = calls[{row.number(0), row.number(1)}];
        if (chain.size() < kMostDepth)
            chain.push_back({.function = std::string(row.text(2)),
                             .source_file = std::string(row.text(3)),
                             .source_line = static_cast<std::uint32_t>(row.number(4))});
    }
    return calls;
}

} // namespace fencepost::trace
