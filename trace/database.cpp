// SPDX-License-Identifier: GPL-2.0-or-later
// See database.h.
#include "trace/database.h"

#include <iterator>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>

#include "base/error.h"
#include "trace/folder_vfs.h"
#include "trace/journal.h"

namespace fencepost::trace {

namespace {

constexpr const char *kKindParameter = "fencepost_kind";
constexpr const char *kNameParameter = "fencepost_name"; // as the user knows the file

struct KindWords {
    ErrorKind error;
    const char *what;
    const char *advice;
};

constexpr KindWords kKindWords[] = {
    {ErrorKind::trace, "a trace", ""},
    {ErrorKind::usage, "an index of images", "; name another file"},
    {ErrorKind::trace, "the results of a test",
     "; fencepost test --restart forgets it and tests anew"},
};

// SQLite keeps what was said when the file was opened; all that a statement knows is its
// connection.
const KindWords &words_of(const char *file)
{
    const std::int64_t kind = file && *file ? sqlite3_uri_int64(file, kKindParameter, 0) : 0;
    return kKindWords[kind >= 0 && kind < std::ssize(kKindWords) ? kind : 0];
}

// What `fencepost repair` takes: the folder of a run's file, else the file.
std::string run_of(const std::filesystem::path &file)
{
    if (file.filename() != "trace.db" && file.filename() != "results.db")
        return file.string();
    return file.has_parent_path() ? file.parent_path().string() : ".";
}

std::string escaped(const std::string &text)
{
    std::string uri;
    for (const char c : text)
        uri += fmt::format("%{:02x}", static_cast<unsigned char>(c));
    return uri;
}

std::string uri_of(const std::string &name, const std::filesystem::path &shown, FileKind kind)
{
    return fmt::format("file:{}?{}={}&{}={}", escaped(name), kKindParameter,
                       static_cast<unsigned>(kind), kNameParameter, escaped(shown.string()));
}

// The operating system's reason for the last failure to open a file.
int reason_number(sqlite3 *database)
{
    return (sqlite3_errcode(database) & 0xff) == SQLITE_CANTOPEN ? sqlite3_system_errno(database)
                                                                 : 0;
}

// What may be opened under the name: nothing yet, or a regular file. Not a link: it would lead out
// of the folder.
void check_is_file(int folder, const std::filesystem::path &path, FileKind kind)
{
    const KindWords &words = kKindWords[static_cast<unsigned>(kind)];
    struct stat status;
    if (fstatat(folder, path.filename().c_str(), &status, AT_SYMLINK_NOFOLLOW) < 0)
        return; // SQLite says what is wrong
    if (S_ISLNK(status.st_mode))
        fail(words.error,
             "{} is a symbolic link, which fencepost does not follow; name the file itself",
             path.string());
    if (!S_ISREG(status.st_mode))
        fail(words.error, "{} is not {}: it is not a regular file{}", path.string(), words.what,
             words.advice);
}

} // namespace

std::string file_of(sqlite3 *database)
{
    const char *name = database ? sqlite3_db_filename(database, "main") : nullptr;
    if (!name || !*name)
        return "the trace";
    const char *shown = sqlite3_uri_parameter(name, kNameParameter);
    return shown ? shown : name;
}

void fail_sqlite(sqlite3 *database, int code)
{
    const std::string file = file_of(database);
    const auto &[error, what, advice] =
        words_of(database ? sqlite3_db_filename(database, "main") : nullptr);
    const std::string reason = database ? sqlite3_errmsg(database) : sqlite3_errstr(code);
    if (const char *refusal = take_refusal())
        fail(error, "cannot open {}: {}{}", file, refusal, advice);
    if (code == SQLITE_READONLY_ROLLBACK)
        fail(ErrorKind::trace,
             "{} was being written when its writer was killed, and reading it rolls nothing back; "
             "`fencepost repair {}` does",
             file, run_of(file));
    // The virtual table's own words, which name the file.
    if (code == SQLITE_CORRUPT_VTAB)
        fail(ErrorKind::trace, "{}", reason);
    switch (code & 0xff) {
    case SQLITE_NOTADB:
        fail(error, "{} is not {}: it is not a SQLite file{}", file, what, advice);
    case SQLITE_CORRUPT:
        fail(error, "{} is truncated or damaged: SQLite says {}{}", file, reason, advice);
    case SQLITE_FULL:
        fail(ErrorKind::io, "cannot write {}: the disk is full; free some space and try again",
             file);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        fail(ErrorKind::io, "{} is in use by another process; try again when that has ended", file);
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH:
        fail(ErrorKind::io, "cannot open {}: {}; check that it and its directory can be written",
             file, reason);
    case SQLITE_IOERR:
    case SQLITE_NOMEM:
        fail(ErrorKind::io, "cannot read or write {}: {}", file, reason);
    case SQLITE_INTERRUPT:
        fail(ErrorKind::interrupted, "interrupted");
    default:
        fail(error, "{} cannot be used as {}: {}{}", file, what, reason, advice);
    }
}

std::string quoted_name(std::string_view name)
{
    std::string text = "\"";
    for (const char c : name) {
        text += c;
        if (c == '"')
            text += c;
    }
    return text + "\"";
}

Statement::Statement(sqlite3 *database, std::string_view sql) : database_(database)
{
    sqlite3_stmt *statement = nullptr;
    const int code =
        sqlite3_prepare_v2(database, sql.data(), static_cast<int>(sql.size()), &statement, nullptr);
    statement_.reset(statement);
    check(code);
}

void Statement::check(int code) const
{
    if (code != SQLITE_OK)
        fail_sqlite(database_, code);
}

Statement &Statement::bind(int parameter, std::int64_t number)
{
    check(sqlite3_bind_int64(statement_.get(), parameter, number));
    return *this;
}

Statement &Statement::bind(int parameter, std::uint64_t number)
{
    return bind(parameter, static_cast<std::int64_t>(number));
}

Statement &Statement::bind(int parameter, std::string_view text)
{
    // An empty view may have no address, which SQLite would take for NULL.
    check(sqlite3_bind_text(statement_.get(), parameter, text.empty() ? "" : text.data(),
                            static_cast<int>(text.size()), SQLITE_STATIC));
    return *this;
}

Statement &Statement::bind(int parameter, std::span<const std::byte> blob)
{
    check(blob.empty() ? sqlite3_bind_zeroblob(statement_.get(), parameter, 0)
                       : sqlite3_bind_blob64(statement_.get(), parameter, blob.data(), blob.size(),
                                             SQLITE_STATIC));
    return *this;
}

Statement &Statement::bind_null(int parameter)
{
    check(sqlite3_bind_null(statement_.get(), parameter));
    return *this;
}

bool Statement::step()
{
    const int code = sqlite3_step(statement_.get());
    if (code == SQLITE_ROW)
        return true;
    if (code == SQLITE_DONE)
        return false;
    // Only after the message has been taken: a reset keeps the statement from holding a lock.
    try {
        fail_sqlite(database_, code);
    } catch (...) {
        sqlite3_reset(statement_.get());
        throw;
    }
}

void Statement::run()
{
    while (step()) {
    }
    reset();
}

void Statement::reset()
{
    sqlite3_reset(statement_.get());
}

bool Statement::is_null(int column) const
{
    return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

std::int64_t Statement::integer(int column) const
{
    return sqlite3_column_int64(statement_.get(), column);
}

std::string_view Statement::text(int column) const
{
    const auto *text =
        reinterpret_cast<const char *>(sqlite3_column_text(statement_.get(), column));
    return text ? std::string_view(text, static_cast<std::size_t>(
                                             sqlite3_column_bytes(statement_.get(), column)))
                : std::string_view();
}

std::optional<std::string> Statement::optional_text(int column) const
{
    if (is_null(column))
        return std::nullopt;
    return std::string(text(column));
}

std::span<const std::byte> Statement::blob(int column) const
{
    const auto *bytes =
        static_cast<const std::byte *>(sqlite3_column_blob(statement_.get(), column));
    const int size = sqlite3_column_bytes(statement_.get(), column);
    return bytes ? std::span(bytes, static_cast<std::size_t>(size)) : std::span<const std::byte>();
}

Database::Database(const std::filesystem::path &path, int flags, FileKind kind)
{
    sqlite3 *handle = nullptr;
    flags |= SQLITE_OPEN_NOMUTEX;
    take_refusal();
    int code;
    if (path.empty() || path == ":memory:") {
        code = sqlite3_open_v2(path.c_str(), &handle, flags, nullptr);
    } else {
        folder_ = Fd(open(path.has_parent_path() ? path.parent_path().c_str() : ".",
                          O_PATH | O_DIRECTORY | O_CLOEXEC));
        if (!folder_)
            fail_errno(fmt::format("cannot open {}", path.string()));
        check_is_file(folder_.get(), path, kind);
        if (flags & SQLITE_OPEN_READWRITE)
            check_journal(folder_.get(), path.filename().string(), path);
        const std::string name = name_in_folder(folder_.get(), path.filename().string());
        code = sqlite3_open_v2(uri_of(name, path, kind).c_str(), &handle, flags | SQLITE_OPEN_URI,
                               folder_vfs());
    }
    handle_.reset(handle);
    if (code != SQLITE_OK) {
        const char *refusal = take_refusal();
        fail(refusal ? kKindWords[static_cast<unsigned>(kind)].error : ErrorKind::io,
             "cannot open {}: {}", path.string(),
             refusal ? std::string(refusal)
             : handle && reason_number(handle)
                 ? std::generic_category().message(reason_number(handle))
             : handle ? std::string(sqlite3_errmsg(handle))
                      : std::string(sqlite3_errstr(code)));
    }
    sqlite3_extended_result_codes(handle, 1);
}

void Database::execute(const std::string &sql)
{
    const int code = sqlite3_exec(get(), sql.c_str(), nullptr, nullptr, nullptr);
    if (code != SQLITE_OK)
        fail_sqlite(get(), code);
}

std::int64_t Database::integer(const std::string &sql)
{
    Statement statement(get(), sql);
    return statement.step() ? statement.integer(0) : 0;
}

} // namespace fencepost::trace
