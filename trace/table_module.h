// SPDX-License-Identifier: GPL-2.0-or-later
// What the virtual tables of a trace have in common: the functions that SQLite calls, around a type
// that produces the rows. No exception may reach SQLite.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>

#include "base/error.h"
#include "trace/database.h"
#include "trace/sqlite_api.h"

namespace fencepost::trace {

// A virtual table of one connection; `schema` is the name of its trace there, normally "main".
struct TraceTable : sqlite3_vtab {
    sqlite3 *database = nullptr;
    std::string schema;
    void *shared = nullptr; // of all tables of the module on this connection, see TableModule
};

// Throws Error(trace) unless the table's database is a trace of our format.
void check_table_version(const TraceTable &table);

// Runs `action` and turns what it throws into SQLite's way of failing.
template <typename Action> int guarded(sqlite3_vtab *table, Action &&action) noexcept
{
    const auto report = [table](int code, const char *message) {
        sqlite3_free(table->zErrMsg);
        table->zErrMsg = sqlite3_mprintf("%s", message);
        return code;
    };
    try {
        action();
        return SQLITE_OK;
    } catch (const Error &error) {
        const int code = error.kind() == ErrorKind::trace         ? SQLITE_CORRUPT_VTAB
                         : error.kind() == ErrorKind::interrupted ? SQLITE_INTERRUPT
                                                                  : SQLITE_ERROR;
        return report(code, error.what());
    } catch (const std::bad_alloc &) {
        return SQLITE_NOMEM;
    } catch (const std::exception &error) {
        return report(SQLITE_ERROR, error.what());
    }
}

// `Rows` is one pass over the table:
//   static const char kDeclaration[]            its columns, as CREATE TABLE
//   static int plan(sqlite3_index_info *)       xBestIndex; may throw
//   void start(const TraceTable &, int plan_number, const char *plan, span<sqlite3_value *>)
//   void next()                                 start() and next() may throw
//   bool at_end() const
//   void column(sqlite3_context *, int) const
//   std::uint64_t rowid() const
template <typename Rows> class TableModule {
public:
    // A module that CREATE VIRTUAL TABLE names. What `shared` points to belongs to the connection
    // from here on; tables have it as TraceTable::shared.
    template <typename Shared = int>
    static void register_as(sqlite3 *database, const char *name,
                            std::unique_ptr<Shared> shared = nullptr)
    {
        add(database, name, &kModule, std::move(shared));
    }
    // A table that is there without being in any file.
    static void register_table(sqlite3 *database, const char *name)
    {
        add<int>(database, name, &kTable, nullptr);
    }

private:
    template <typename Shared>
    static void add(sqlite3 *database, const char *name, const sqlite3_module *module,
                    std::unique_ptr<Shared> shared)
    {
        const auto destroy = [](void *pointer) { delete static_cast<Shared *>(pointer); };
        const int code =
            sqlite3_create_module_v2(database, name, module, shared.release(), destroy);
        if (code != SQLITE_OK)
            fail_sqlite(database, code);
    }

    struct Cursor : sqlite3_vtab_cursor {
        Rows rows;
        bool version_checked = false; // a join starts the same cursor many times
    };

    static Rows &rows_of(sqlite3_vtab_cursor *cursor)
    {
        return static_cast<Cursor *>(cursor)->rows;
    }

    static int connect(sqlite3 *database, void *shared, int count, const char *const *arguments,
                       sqlite3_vtab **result, char **)
    {
        if (const int code = sqlite3_declare_vtab(database, Rows::kDeclaration); code != SQLITE_OK)
            return code;
        // It only reads the trace it is part of, so views and triggers of untrusted files may use
        // it.
        sqlite3_vtab_config(database, SQLITE_VTAB_INNOCUOUS);
        auto *table = new (std::nothrow) TraceTable{};
        if (!table)
            return SQLITE_NOMEM;
        table->database = database;
        table->shared = shared;
        const int code = guarded(table, [&] { table->schema = count > 1 ? arguments[1] : "main"; });
        *result = table;
        return code;
    }

    static int disconnect(sqlite3_vtab *table)
    {
        delete static_cast<TraceTable *>(table);
        return SQLITE_OK;
    }

    static int best_index(sqlite3_vtab *table, sqlite3_index_info *info)
    {
        int code = SQLITE_OK;
        const int failure = guarded(table, [&] { code = Rows::plan(info); });
        return failure ? failure : code;
    }

    static int open_cursor(sqlite3_vtab *, sqlite3_vtab_cursor **result)
    {
        auto *cursor = new (std::nothrow) Cursor{};
        *result = cursor;
        return cursor ? SQLITE_OK : SQLITE_NOMEM;
    }

    static int close_cursor(sqlite3_vtab_cursor *cursor)
    {
        delete static_cast<Cursor *>(cursor);
        return SQLITE_OK;
    }

    static int filter(sqlite3_vtab_cursor *cursor, int plan_number, const char *plan, int count,
                      sqlite3_value **arguments)
    {
        return guarded(cursor->pVtab, [&] {
            const auto &table = *static_cast<TraceTable *>(cursor->pVtab);
            auto &checked = static_cast<Cursor *>(cursor)->version_checked;
            if (!checked)
                check_table_version(table);
            checked = true;
            rows_of(cursor).start(table, plan_number, plan,
                                  std::span(arguments, static_cast<std::size_t>(count)));
        });
    }

    static int next(sqlite3_vtab_cursor *cursor)
    {
        return guarded(cursor->pVtab, [&] { rows_of(cursor).next(); });
    }

    static int eof(sqlite3_vtab_cursor *cursor) { return rows_of(cursor).at_end(); }

    static int column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int number)
    {
        rows_of(cursor).column(context, number);
        return SQLITE_OK;
    }

    static int rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *result)
    {
        *result = static_cast<sqlite3_int64>(rows_of(cursor).rowid());
        return SQLITE_OK;
    }

    using Connect = decltype(connect);
    static constexpr sqlite3_module module(Connect *create)
    {
        return {
            .iVersion = 0,
            .xCreate = create,
            .xConnect = connect,
            .xBestIndex = best_index,
            .xDisconnect = disconnect,
            .xDestroy = disconnect,
            .xOpen = open_cursor,
            .xClose = close_cursor,
            .xFilter = filter,
            .xNext = next,
            .xEof = eof,
            .xColumn = column,
            .xRowid = rowid,
        };
    }
    static constexpr sqlite3_module kModule = module(connect);
    static constexpr sqlite3_module kTable = module(nullptr);
};

inline void result_number(sqlite3_context *context, std::uint64_t number)
{
    sqlite3_result_int64(context, static_cast<sqlite3_int64>(number));
}

// Where the condition does not hold the result stays NULL.
inline void result_if(sqlite3_context *context, bool holds, std::uint64_t number)
{
    if (holds)
        result_number(context, number);
}

// A name that lives as long as the program.
inline void result_name(sqlite3_context *context, std::string_view name)
{
    sqlite3_result_text(context, name.data(), static_cast<int>(name.size()), SQLITE_STATIC);
}

inline void result_text(sqlite3_context *context, const std::string &text)
{
    sqlite3_result_text(context, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
}

} // namespace fencepost::trace
