// SPDX-License-Identifier: GPL-2.0-or-later
// See query.h.
#include "trace/query.h"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/core.h>
#include <poll.h>

#include "base/error.h"
#include "base/interrupt.h"

namespace fencepost::trace {

namespace {

// Pragmas that only say something, when they have no argument or name a table.
constexpr std::array<std::string_view, 12> kReadingPragmas = {
    "application_id", "collation_list", "database_list", "function_list",
    "index_info",     "index_list",     "index_xinfo",   "page_count",
    "page_size",      "table_info",     "table_list",    "table_xinfo"};

bool only_reads(int action, std::string_view first, std::string_view second)
{
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
        return true;
    case SQLITE_FUNCTION:
        return second != "load_extension";
    case SQLITE_PRAGMA:
        return std::ranges::count(kReadingPragmas, first) ||
               (first == "user_version" && second.empty());
    default:
        return false;
    }
}

int authorize(void *, int action, const char *first, const char *second, const char *,
              const char *) noexcept
{
    return only_reads(action, first ? first : "", second ? second : "") ? SQLITE_OK : SQLITE_DENY;
}

int check_interrupt(void *) noexcept
{
    pollfd waited = {interrupt_fd(), POLLIN, 0};
    return poll(&waited, 1, 0) > 0;
}

constexpr int kStepsBetweenChecks = 100'000; // of SQLite's machine: a few milliseconds

// Whether there is nothing but white space, comments and semicolons.
bool is_blank(sqlite3 *database, std::string_view sql)
{
    while (!sql.empty()) {
        sqlite3_stmt *statement = nullptr;
        const char *rest = nullptr;
        const int code = sqlite3_prepare_v2(database, sql.data(), static_cast<int>(sql.size()),
                                            &statement, &rest);
        const bool something = statement || code != SQLITE_OK;
        sqlite3_finalize(statement);
        if (something)
            return false;
        sql.remove_prefix(static_cast<std::size_t>(rest - sql.data()));
    }
    return true;
}

} // namespace

Query::Query(const TraceReader &reader, std::string_view sql) : database_(reader.connection())
{
    // SQLite connects virtual tables when they are first named, and would ask whether their
    // columns may be declared. What is wrong with one is told to whoever asks about it.
    for (const char *naming : {"SELECT 1 FROM event", "SELECT 1 FROM interval_site"})
        sqlite3_exec(database_, (std::string("EXPLAIN ") + naming).c_str(), nullptr, nullptr,
                     nullptr);
    watch();
    try {
        prepare(sql);
    } catch (...) {
        sqlite3_set_authorizer(database_, nullptr, nullptr);
        sqlite3_progress_handler(database_, 0, nullptr, nullptr);
        throw;
    }
}

Query::~Query()
{
    statement_.reset();
    sqlite3_set_authorizer(database_, nullptr, nullptr);
    sqlite3_progress_handler(database_, 0, nullptr, nullptr);
}

void Query::watch()
{
    sqlite3_set_authorizer(database_, authorize, nullptr);
    sqlite3_progress_handler(database_, kStepsBetweenChecks, check_interrupt, nullptr);
}

void Query::prepare(std::string_view sql)
{
    if (sql.size() >
        static_cast<std::size_t>(sqlite3_limit(database_, SQLITE_LIMIT_SQL_LENGTH, -1)))
        fail(ErrorKind::usage, "the query is too long");
    // SQLite reads up to the first zero byte and would not see what follows.
    if (sql.find('\0') != sql.npos)
        fail(ErrorKind::usage, "the query has a zero byte in it");
    while (true) {
        sqlite3_stmt *statement = nullptr;
        const char *rest = nullptr;
        const int code = sqlite3_prepare_v2(database_, sql.empty() ? "" : sql.data(),
                                            static_cast<int>(sql.size()), &statement, &rest);
        statement_.reset(statement);
        if (code != SQLITE_OK)
            fail_query(code);
        sql.remove_prefix(sql.empty() ? 0 : static_cast<std::size_t>(rest - sql.data()));
        if (statement_)
            break;
        if (sql.empty())
            fail(ErrorKind::usage, "the query is empty");
    }
    if (!is_blank(database_, sql))
        fail(ErrorKind::usage, "there is more than one statement: ask one at a time, or join them "
                               "with WITH or UNION ALL");
    if (!sqlite3_stmt_readonly(statement_.get()))
        fail_query(SQLITE_AUTH);
}

void Query::fail_query(int code) const
{
    switch (code & 0xff) {
    case SQLITE_AUTH:
    case SQLITE_READONLY:
        fail(ErrorKind::usage, "the query would do more than read this trace, which is refused");
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_IOERR:
    case SQLITE_NOMEM:
    case SQLITE_FULL:
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_CANTOPEN:
    case SQLITE_INTERRUPT:
        fail_sqlite(database_, code);
    default:
        fail(ErrorKind::usage, "{}", sqlite3_errmsg(database_));
    }
}

int Query::column_count() const
{
    return sqlite3_column_count(statement_.get());
}

std::string_view Query::column_name(int column) const
{
    const char *name = sqlite3_column_name(statement_.get(), column);
    return name ? name : "";
}

std::vector<std::string> Query::unique_names() const
{
    std::vector<std::string> unique;
    std::map<std::string, int> seen;
    for (int column = 0; column < column_count(); ++column) {
        const std::string name(column_name(column));
        std::string key = name;
        while (seen.contains(key))
            key = fmt::format("{}:{}", name, seen[name]++);
        seen.emplace(key, 1);
        unique.push_back(std::move(key));
    }
    return unique;
}

bool Query::step()
{
    const int code = sqlite3_step(statement_.get());
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        fail_query(code);
    return code == SQLITE_ROW;
}

ValueType Query::type(int column) const
{
    switch (sqlite3_column_type(statement_.get(), column)) {
    case SQLITE_INTEGER:
        return ValueType::integer;
    case SQLITE_FLOAT:
        return ValueType::real;
    case SQLITE_TEXT:
        return ValueType::text;
    case SQLITE_BLOB:
        return ValueType::blob;
    default:
        return ValueType::null;
    }
}

std::int64_t Query::integer(int column) const
{
    return sqlite3_column_int64(statement_.get(), column);
}

double Query::real(int column) const
{
    return sqlite3_column_double(statement_.get(), column);
}

std::string_view Query::text(int column) const
{
    const auto *text =
        reinterpret_cast<const char *>(sqlite3_column_text(statement_.get(), column));
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column));
    return text ? std::string_view(text, size) : std::string_view();
}

std::span<const std::byte> Query::blob(int column) const
{
    const auto *bytes =
        static_cast<const std::byte *>(sqlite3_column_blob(statement_.get(), column));
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column));
    return bytes ? std::span(bytes, size) : std::span<const std::byte>();
}

} // namespace fencepost::trace
