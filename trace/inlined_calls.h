// SPDX-License-Identifier: GPL-2.0-or-later
// The table inlined_call: what compilers put into the functions of a trace.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "trace/reader.h"

namespace fencepost::trace {

struct InlinedCall {
    std::string function = {};
    std::string source_file = {}; // where it is called; empty = unknown
    std::uint32_t source_line = 0;
};

// The innermost first, by address space and program counter.
using InlinedCalls = std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<InlinedCall>>;

// Traces of earlier versions do not have the table.
bool has_inlined_calls(sqlite3 *database);

InlinedCalls inlined_calls(const TraceReader &reader);

} // namespace fencepost::trace
