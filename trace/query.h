// SPDX-License-Identifier: GPL-2.0-or-later
// A user's own query of a trace: anything that only reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/reader.h"

namespace fencepost::trace {

enum class ValueType { null, integer, real, text, blob };

// One statement. It cannot change the trace, nor reach any other file. What is wrong with it is
// Error(usage) in SQLite's words; what is wrong with the trace stays Error(trace). The reader must
// outlive the query, and has one query at a time.
class Query {
public:
    Query(const TraceReader &reader, std::string_view sql);
    ~Query();
    Query(const Query &) = delete;
    Query &operator=(const Query &) = delete;

    int column_count() const;
    std::string_view column_name(int column) const;
    // As keys: a name that occurs again gets a number, `seq:1`.
    std::vector<std::string> unique_names() const;

    // True while there is a row. SIGINT ends it with Error(interrupted).
    bool step();

    // Of the current row; borrowed until the next step.
    ValueType type(int column) const;
    std::int64_t integer(int column) const;
    double real(int column) const;
    std::string_view text(int column) const;
    std::span<const std::byte> blob(int column) const;

private:
    struct Finalize {
        void operator()(sqlite3_stmt *statement) const { sqlite3_finalize(statement); }
    };
    [[noreturn]] void fail_query(int code) const;
    void watch();
    void prepare(std::string_view sql);

    sqlite3 *database_;
    std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

} // namespace fencepost::trace
