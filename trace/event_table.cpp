// SPDX-License-Identifier: GPL-2.0-or-later
// See event_table.h. SQLite calls these functions; no exception may reach it.
#include "trace/event_table.h"

#include <memory>
#include <new>
#include <optional>
#include <string>

#include "base/error.h"
#include "trace/event_plan.h"
#include "trace/event_scan.h"
#include "trace/schema.h"

namespace fencepost::trace {

namespace {

struct EventTable : sqlite3_vtab {
    sqlite3 *database = nullptr;
    std::string schema;
};

struct EventCursor : sqlite3_vtab_cursor {
    std::optional<EventScan> scan;
    std::size_t index = 0; // among the block's selected events
    std::size_t count = 0;
    bool at_end = true;

    std::size_t position() const { return scan->all_selected() ? index : scan->selected()[index]; }
    const Event &event() const { return scan->events()[position()]; }
    std::uint64_t seq() const { return scan->first_seq() + position(); }

    void next_block()
    {
        at_end = !scan->next();
        index = 0;
        if (!at_end)
            count = scan->all_selected() ? scan->events().size() : scan->selected().size();
    }
};

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

int connect(sqlite3 *database, void *, int count, const char *const *arguments,
            sqlite3_vtab **result, char **)
{
    if (const int code = sqlite3_declare_vtab(database, kEventDeclaration); code != SQLITE_OK)
        return code;
    // It only reads the trace it is part of, so views and triggers of untrusted files may use it.
    sqlite3_vtab_config(database, SQLITE_VTAB_INNOCUOUS);
    auto *table = new (std::nothrow) EventTable{};
    if (!table)
        return SQLITE_NOMEM;
    table->database = database;
    const int code = guarded(table, [&] { table->schema = count > 1 ? arguments[1] : "main"; });
    *result = table;
    return code;
}

int disconnect(sqlite3_vtab *table)
{
    delete static_cast<EventTable *>(table);
    return SQLITE_OK;
}

int best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
    int code = SQLITE_OK;
    const int failure = guarded(table, [&] { code = plan_scan(info); });
    return failure ? failure : code;
}

int open_cursor(sqlite3_vtab *, sqlite3_vtab_cursor **result)
{
    auto *cursor = new (std::nothrow) EventCursor{};
    *result = cursor;
    return cursor ? SQLITE_OK : SQLITE_NOMEM;
}

int close_cursor(sqlite3_vtab_cursor *cursor)
{
    delete static_cast<EventCursor *>(cursor);
    return SQLITE_OK;
}

void check_version(const EventTable &table)
{
    Statement version(table.database, "PRAGMA " + quoted_name(table.schema) + ".user_version");
    if (!version.step() || version.integer(0) != kFormatVersion)
        fail(ErrorKind::trace, "this database is not a trace of format {}", kFormatVersion);
}

int filter(sqlite3_vtab_cursor *base, int plan_number, const char *plan, int count,
           sqlite3_value **arguments)
{
    auto *cursor = static_cast<EventCursor *>(base);
    return guarded(base->pVtab, [&] {
        const auto &table = *static_cast<EventTable *>(base->pVtab);
        if (!cursor->scan)
            check_version(table);
        cursor->scan.emplace(table.database, table.schema,
                             planned_filter(plan_number, plan,
                                            std::span(arguments, static_cast<std::size_t>(count))));
        cursor->next_block();
    });
}

int next(sqlite3_vtab_cursor *base)
{
    auto *cursor = static_cast<EventCursor *>(base);
    if (++cursor->index < cursor->count)
        return SQLITE_OK;
    return guarded(base->pVtab, [&] { cursor->next_block(); });
}

int eof(sqlite3_vtab_cursor *cursor)
{
    return static_cast<EventCursor *>(cursor)->at_end;
}

void result_name(sqlite3_context *context, std::string_view name)
{
    sqlite3_result_text(context, name.data(), static_cast<int>(name.size()), SQLITE_STATIC);
}

// Where the condition does not hold the result stays NULL.
void result_if(sqlite3_context *context, bool holds, std::uint64_t number)
{
    if (holds)
        sqlite3_result_int64(context, static_cast<sqlite3_int64>(number));
}

void result_value(sqlite3_context *context, const Event &event,
                  std::span<const std::byte> wide_values)
{
    if (!event.is_store())
        return;
    const auto bytes = value_of(event, wide_values);
    sqlite3_result_blob(context, bytes.data(), static_cast<int>(bytes.size()), SQLITE_TRANSIENT);
}

int column(sqlite3_vtab_cursor *base, sqlite3_context *context, int number)
{
    const auto *cursor = static_cast<EventCursor *>(base);
    const Event &event = cursor->event();
    switch (number) {
    case kSeq:
        result_if(context, true, cursor->seq());
        break;
    case kKind:
        result_name(context, name_of(event.kind));
        break;
    case kSubkind:
        result_name(context, subkind_name(event.kind, event.subkind));
        break;
    case kVcpu:
        result_if(context, true, event.vcpu);
        break;
    case kAddress:
        result_if(context, event.has_address(), event.address);
        break;
    case kLine:
        result_if(context, event.has_address(), event.first_line());
        break;
    case kLastLine:
        result_if(context, event.has_address(), event.last_line());
        break;
    case kSize:
        result_if(context, event.size > 0, event.size);
        break;
    case kNumber:
        result_if(context, event.is_store() && !event.is_wide_store(), event.value);
        break;
    case kValue:
        result_value(context, event, cursor->scan->wide_values());
        break;
    case kSite:
        result_if(context, event.site != 0, event.site);
        break;
    case kStack:
        result_if(context, event.stack != 0, event.stack);
        break;
    case kAtomicColumn:
        result_if(context, true, event.flags & kAtomic ? 1 : 0);
        break;
    default:
        break;
    }
    return SQLITE_OK;
}

int rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *result)
{
    *result = static_cast<sqlite3_int64>(static_cast<EventCursor *>(cursor)->seq());
    return SQLITE_OK;
}

constexpr sqlite3_module kModule = {
    .iVersion = 0,
    .xCreate = connect,
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

} // namespace

void register_event_table(sqlite3 *database)
{
    const int code =
        sqlite3_create_module_v2(database, "fencepost_event", &kModule, nullptr, nullptr);
    if (code != SQLITE_OK)
        fail_sqlite(database, code);
}

} // namespace fencepost::trace
