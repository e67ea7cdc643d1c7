// SPDX-License-Identifier: GPL-2.0-or-later
// What a rule judges as one: a marked epoch, a transaction of a library, an operation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/rules/line_table.h"

namespace fencepost::rules {

struct TransactionTable;

enum class ScopeKind : std::uint8_t { marked_epoch, transaction, operation };

struct Scope {
    ScopeKind kind = ScopeKind::marked_epoch;
    std::int64_t number = 0;
    std::string text;          // of an operation
    std::uint64_t process = 0; // page-table base; 0 = kernel code
    std::uint16_t vcpu = 0;    // of kernel code
    std::uint64_t first_seq = 0;
    std::uint64_t last_seq = 0; // set at its end
    unsigned depth = 1;         // of markers: nested ones count as the outermost
    const TransactionTable *table = nullptr;
    bool committing = false;
    bool aborted = false;
    bool allocated = false;      // something
    std::uint64_t last_free = 0; // last event of freeing something in the transaction

    // Stores of the code that the scope belongs to; one entry for a run of stores of one site to
    // one line.
    struct Write {
        std::uint64_t line;
        Origin origin; // the first of them
        std::uint64_t address;
        std::uint64_t end;
    };
    std::vector<Write> writes;
    bool writes_cut = false; // there were more than are kept
    std::vector<std::uint64_t>
        covered;                // lines that the commit flushed: what was logged or allocated
    std::vector<Origin> fences; // that guaranteed something
    struct LogEntry {
        std::uint64_t offset;
        std::uint64_t size;
        std::uint64_t line; // of the entry itself
        Origin origin;
    };
    std::vector<LogEntry> log;

    bool is_transaction() const { return kind == ScopeKind::transaction; }
};

} // namespace fencepost::rules
