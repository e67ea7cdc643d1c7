// SPDX-License-Identifier: GPL-2.0-or-later
// See file_check.h. The file is only ever opened by SQLite: closing a second descriptor of it in
// this process would drop the locks of a writer here.
#include "trace/file_check.h"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include <sys/stat.h>

#include "base/error.h"
#include "trace/schema.h"
#include "trace/tables.h"

namespace fencepost::trace {

namespace fs = std::filesystem;

namespace {

constexpr int kBusyMilliseconds = 10'000;

void check_is_file(const fs::path &path)
{
    struct stat status;
    if (stat(path.c_str(), &status) < 0)
        fail_errno(fmt::format("cannot open the trace {}", path.string()));
    if (S_ISDIR(status.st_mode))
        fail(ErrorKind::trace, "{} is a directory, not a trace", path.string());
    if (!S_ISREG(status.st_mode))
        fail(ErrorKind::trace, "{} is not a trace: it is not a regular file", path.string());
    if (status.st_size == 0)
        fail(ErrorKind::trace, "{} is not a trace: it is empty", path.string());
}

void check_version(Database &database, const fs::path &path)
{
    if (database.integer("PRAGMA application_id") != kApplicationId)
        fail(ErrorKind::trace, "{} is not a trace: it is the SQLite file of another program",
             path.string());
    const std::int64_t version = database.integer("PRAGMA user_version");
    if (version > kFormatVersion)
        fail(
            ErrorKind::trace,
            "{} has trace format {}, newer than format {} of this fencepost: use a newer fencepost",
            path.string(), version, kFormatVersion);
    if (version < kFormatVersion)
        fail(ErrorKind::trace,
             "{} has trace format {}, older than format {} of this fencepost: record it again",
             path.string(), version, kFormatVersion);
}

// SQLite itself notices only when a whole page is missing.
void check_length(Database &database, const fs::path &path)
{
    const auto stated = static_cast<std::uint64_t>(database.integer("PRAGMA page_count") *
                                                   database.integer("PRAGMA page_size"));
    std::error_code error;
    if (const auto size = fs::file_size(path, error); !error && size < stated)
        fail(ErrorKind::trace, "{} is truncated or damaged: it has {} bytes of {}", path.string(),
             size, stated);
}

constexpr const char *kTables[] = {"meta",        "recording",   "region",     "initial_image",
                                   "event_block", "site",        "site_count", "symbol",
                                   "stack",       "stack_frame", "marker",     "late_line",
                                   "data_quality"};
// That traces of this format may lack, as earlier versions did not write them.
constexpr const char *kLaterTables[] = {"event_moment", "inlined_call"};

// Names and types of all columns of our tables; a view in place of a table or a computed column
// shows as a difference.
std::string layout_of(Database &database, std::span<const char *const> tables)
{
    std::string layout;
    Statement columns(database.get(),
                      "SELECT t.name, t.type, c.name, c.type, c.hidden, c.pk FROM sqlite_schema t,"
                      " pragma_table_xinfo(t.name) c WHERE t.name = ?1 ORDER BY c.cid");
    for (const char *table : tables) {
        columns.bind(1, std::string_view(table));
        while (columns.step())
            for (int column = 0; column < 6; ++column)
                layout.append(columns.text(column)).append("|");
        columns.reset();
    }
    return layout;
}

struct Layout {
    std::string tables;
    std::vector<std::string> later; // empty: it is not there
};

Layout layout_of(Database &database)
{
    Layout layout = {.tables = layout_of(database, kTables)};
    for (const char *const &table : kLaterTables)
        layout.later.push_back(layout_of(database, std::span(&table, 1)));
    return layout;
}

const Layout &expected_layout()
{
    static const Layout layout = [] {
        Database empty(":memory:", SQLITE_OPEN_READWRITE);
        register_tables(empty.get());
        empty.execute(kSchema);
        return layout_of(empty);
    }();
    return layout;
}

bool has_our_tables(Database &database)
{
    const Layout layout = layout_of(database);
    const Layout &expected = expected_layout();
    return layout.tables == expected.tables &&
           std::equal(layout.later.begin(), layout.later.end(), expected.later.begin(),
                      [](const std::string &here, const std::string &right) {
                          return here.empty() || here == right;
                      });
}

} // namespace

Database open_trace(const fs::path &path, OpenFor purpose)
{
    check_is_file(path);
    Database database(path,
                      purpose == OpenFor::reading ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE);
    sqlite3_busy_timeout(database.get(), kBusyMilliseconds);
    sqlite3_db_config(database.get(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(database.get(), SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    database.execute("PRAGMA cell_size_check = ON");
    register_tables(database.get());
    check_version(database, path);
    check_length(database, path);
    if (!has_our_tables(database))
        fail(ErrorKind::trace, "{} is damaged: its tables are not those of trace format {}",
             path.string(), kFormatVersion);
    return database;
}

} // namespace fencepost::trace
