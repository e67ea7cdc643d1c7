// SPDX-License-Identifier: GPL-2.0-or-later
// How the transactions of a library or file system show in call stacks, as a table that users can
// write.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyzer/rules/text_lines.h"
#include "trace/event.h"

namespace fencepost::rules {

struct TransactionTable {
    // An entry of a log, recognised by its first word, or else by who writes it.
    struct Entry {
        std::uint64_t tag_mask = 0; // 0: whatever the log's functions write is an entry
        std::uint64_t tag = 0;
        unsigned every = trace::kLineBytes; // entries begin at multiples of it
        unsigned offset_at = 0;             // bytes from the entry's beginning
        std::uint64_t unit = 1;             // what the offset counts
        unsigned size_at = 8;
        std::uint64_t bytes = 0; // that every entry saves; 0: the word at size_at tells
    };

    std::string name;
    std::string place; // FILE:LINE
    // Globs of function names.
    std::vector<std::string> begin;
    std::vector<std::string> log;
    std::vector<std::string> commit;
    std::vector<std::string> abort;
    std::vector<std::string> alloc; // covered by the commit without an entry in the log
    std::vector<std::string> free; // what a transaction allocated and freed again is not in its log
    std::vector<std::string> modules; // of the library: stores below it are its own
    bool flushed_at_commit = false;   // the commit flushes exactly what was logged or allocated
    std::optional<Entry> entry;
};

std::vector<TransactionTable> parse_transaction_tables(const std::vector<TextLine> &lines);
// libpmemobj and jbd2.
std::vector<TransactionTable> built_in_transaction_tables();

// A number in decimal or 0x form, or an Error(usage) at the line.
std::uint64_t number_in(const TextLine &line, const std::string &text);

} // namespace fencepost::rules
