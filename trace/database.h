// SPDX-License-Identifier: GPL-2.0-or-later
// A SQLite connection and its statements, with failures as exceptions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "trace/sqlite_api.h"

namespace fencepost::trace {

// What our user takes a SQLite file for.
enum class FileKind {
    trace,
    image_index,  // states --index: a file that the user named, so what is wrong with it is
                  // Error(usage)
    test_results, // results.db
};

// Throws what a result code of SQLite means to our user: damage is Error(trace), the machine's
// trouble Error(io). The message names the file and, where it helps, what to do.
[[noreturn]] void fail_sqlite(sqlite3 *database, int code);

// The file of a connection, as the user knows it.
std::string file_of(sqlite3 *database);

// An identifier for SQL text.
std::string quoted_name(std::string_view name);

class Statement {
public:
    Statement(sqlite3 *database, std::string_view sql);

    // Parameters are numbered from 1. Text and blobs are borrowed until the next run or reset().
    Statement &bind(int parameter, std::int64_t number);
    Statement &bind(int parameter, std::uint64_t number);
    Statement &bind(int parameter, std::string_view text);
    Statement &bind(int parameter, std::span<const std::byte> blob);
    Statement &bind_null(int parameter);

    // True while there is a row.
    bool step();
    // For statements without rows: executes and makes ready for the next execution.
    void run();
    void reset();

    // Columns are numbered from 0. Borrowed until the next step.
    bool is_null(int column) const;
    std::int64_t integer(int column) const;
    std::uint64_t number(int column) const { return static_cast<std::uint64_t>(integer(column)); }
    std::string_view text(int column) const;
    std::optional<std::string> optional_text(int column) const;
    std::span<const std::byte> blob(int column) const;

private:
    struct Finalize {
        void operator()(sqlite3_stmt *statement) const { sqlite3_finalize(statement); }
    };
    void check(int code) const;

    sqlite3 *database_;
    std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

class Database {
public:
    // `flags` are those of sqlite3_open_v2. Only the file and its journal are ever touched, in the
    // folder that `path` names now; neither may be a link. A connection that may not write never
    // rolls a journal back: what it finds then is Error(trace).
    Database(const std::filesystem::path &path, int flags, FileKind kind = FileKind::trace);

    sqlite3 *get() const { return handle_.get(); }
    void execute(const std::string &sql);
    std::int64_t integer(const std::string &sql);

private:
    struct Close {
        void operator()(sqlite3 *handle) const { sqlite3_close_v2(handle); }
    };
    Fd folder_; // first: SQLite names the file by it until the end
    std::unique_ptr<sqlite3, Close> handle_;
};

} // namespace fencepost::trace
