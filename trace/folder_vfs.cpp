// SPDX-License-Identifier: GPL-2.0-or-later
// See folder_vfs.h. The unix VFS does the work; this one decides what it is asked for. A journal
// may name a super-journal, which SQLite deletes after a rollback: that name comes from whoever
// wrote the journal, so it is never looked at, opened or deleted.
#include "trace/folder_vfs.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/core.h>
#include <sys/stat.h>

#include "trace/sqlite_api.h"

namespace fencepost::trace {

namespace {

constexpr std::string_view kPrefix = "/proc/self/fd/";
constexpr std::string_view kJournal = "-journal";
constexpr std::string_view kLog = "-wal";
// Of a database's header: 1 is a journal, 2 a write-ahead log, for writers and for readers.
constexpr int kVersionsAt = 18;

thread_local const char *refusal = nullptr;

int refuse(int code, const char *why)
{
    refusal = why;
    return code;
}

sqlite3_vfs *inner()
{
    static sqlite3_vfs *const unix_vfs = sqlite3_vfs_find(nullptr);
    return unix_vfs;
}

// "/proc/self/fd/N/NAME"
bool is_in_folder(std::string_view name)
{
    if (!name.starts_with(kPrefix))
        return false;
    name.remove_prefix(kPrefix.size());
    const std::size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
    return digits > 0 && digits + 1 < name.size() && name[digits] == '/' &&
           name.find('/', digits + 1) == name.npos;
}

bool is_journal(std::string_view name)
{
    return is_in_folder(name) && name.ends_with(kJournal);
}

// A pipe would make SQLite wait, a link would lead out of the folder.
bool is_file_or_nothing(const char *name)
{
    struct stat status;
    return lstat(name, &status) != 0 || S_ISREG(status.st_mode);
}

// With a log SQLite makes two more files, of which readers write one.
bool has_log(sqlite3_file *file)
{
    unsigned char versions[2] = {};
    return file->pMethods->xRead(file, versions, sizeof versions, kVersionsAt) == SQLITE_OK &&
           (versions[0] == 2 || versions[1] == 2);
}

int open_file(sqlite3_vfs *, const char *name, sqlite3_file *file, int flags, int *out_flags)
{
    file->pMethods = nullptr;
    if (!name) // a temporary file, which has no name afterwards either
        return inner()->xOpen(inner(), name, file, flags, out_flags);
    if (!is_in_folder(name) || !(flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_MAIN_JOURNAL)))
        return refuse(SQLITE_CANTOPEN, "its journal names another file");
    if (!is_file_or_nothing(name))
        return refuse(SQLITE_CANTOPEN, flags & SQLITE_OPEN_MAIN_DB
                                           ? "it is not a regular file"
                                           : "its journal is not a regular file");
    const int code = inner()->xOpen(inner(), name, file, flags, out_flags);
    if (code != SQLITE_OK || !(flags & SQLITE_OPEN_MAIN_DB) || !has_log(file))
        return code;
    file->pMethods->xClose(file);
    file->pMethods = nullptr;
    return refuse(
        SQLITE_CANTOPEN,
        "it has a write-ahead log, which fencepost does not use; PRAGMA journal_mode = DELETE "
        "in the program that made it takes that away");
}

int delete_file(sqlite3_vfs *, const char *name, int sync_directory)
{
    if (!is_journal(name))
        return refuse(SQLITE_IOERR_DELETE, "its journal names another file");
    return inner()->xDelete(inner(), name, sync_directory);
}

int access_file(sqlite3_vfs *, const char *name, int flags, int *result)
{
    *result = 0;
    if (is_in_folder(name) && std::string_view(name).ends_with(kLog))
        return SQLITE_OK;
    if (!is_journal(name))
        return refuse(SQLITE_IOERR_ACCESS, "its journal names another file");
    return inner()->xAccess(inner(), name, flags, result);
}

int full_name(sqlite3_vfs *, const char *name, int size, char *full)
{
    if (!is_in_folder(name) || std::strlen(name) >= static_cast<std::size_t>(size))
        return refuse(SQLITE_CANTOPEN, "it is outside of its folder");
    std::strcpy(full, name);
    return SQLITE_OK;
}

sqlite3_vfs make_vfs()
{
    sqlite3_vfs vfs = *inner();
    vfs.pNext = nullptr;
    vfs.zName = "fencepost-folder";
    vfs.xOpen = open_file;
    vfs.xDelete = delete_file;
    vfs.xAccess = access_file;
    vfs.xFullPathname = full_name;
    return vfs;
}

} // namespace

const char *folder_vfs()
{
    static sqlite3_vfs vfs = make_vfs();
    static const int registered = sqlite3_vfs_register(&vfs, 0);
    return registered == SQLITE_OK ? vfs.zName : "no VFS";
}

std::string name_in_folder(int folder, std::string_view name)
{
    return fmt::format("{}{}/{}", kPrefix, folder, name);
}

const char *take_refusal()
{
    return std::exchange(refusal, nullptr);
}

} // namespace fencepost::trace
