// SPDX-License-Identifier: GPL-2.0-or-later
// See journal.h. SQLite's file format, section 3, "The Rollback Journal"; the name of a
// super-journal is at its end: page number, name, length, checksum, magic.
#include "trace/journal.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"

namespace fencepost::trace {

namespace fs = std::filesystem;

namespace {

constexpr unsigned char kMagic[8] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
constexpr std::size_t kTrailer = 4 + 4 + sizeof kMagic;

std::uint32_t big_endian(std::span<const std::byte> bytes)
{
    std::uint32_t number = 0;
    for (const std::byte each : bytes.first(4))
        number = number << 8 | std::to_integer<std::uint32_t>(each);
    return number;
}

// The last bytes of a file, as far as they may hold a name.
std::vector<std::byte> tail_of(int fd, std::uint64_t size, const std::string &shown)
{
    std::vector<std::byte> tail(std::min<std::uint64_t>(size, kMostTail));
    const ssize_t got = pread(fd, tail.data(), tail.size(), static_cast<off_t>(size - tail.size()));
    if (got < 0)
        fail_errno(fmt::format("cannot read {}", shown));
    tail.resize(static_cast<std::size_t>(got));
    return tail;
}

} // namespace

std::optional<std::string> super_journal(std::span<const std::byte> tail)
{
    if (tail.size() < kTrailer ||
        std::memcmp(tail.data() + tail.size() - sizeof kMagic, kMagic, sizeof kMagic) != 0)
        return std::nullopt;
    const std::span<const std::byte> trailer = tail.last(kTrailer);
    const std::uint64_t length = big_endian(trailer);
    if (length == 0)
        return std::nullopt;
    const std::span<const std::byte> name = tail.first(tail.size() - kTrailer);
    const std::span<const std::byte> used = name.last(std::min<std::uint64_t>(length, name.size()));
    return std::string(reinterpret_cast<const char *>(used.data()), used.size());
}

void check_journal(int folder, const std::string &database, const fs::path &shown)
{
    const std::string name = database + "-journal";
    const std::string journal = shown.string() + "-journal";
    struct stat status;
    if (fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) < 0) {
        if (errno == ENOENT)
            return;
        fail_errno(fmt::format("cannot look at {}", journal));
    }
    if (!S_ISREG(status.st_mode))
        fail(ErrorKind::trace,
             "{} is not a regular file, so fencepost did not write it; remove it if you trust {}",
             journal, shown.filename().string());
    const Fd fd(openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!fd && errno == ENOENT) // its writer has just committed
        return;
    if (!fd)
        fail_errno(fmt::format("cannot open {}", journal));
    if (super_journal(tail_of(fd.get(), static_cast<std::uint64_t>(status.st_size), journal)))
        fail(ErrorKind::trace,
             "{} names a super-journal, so fencepost did not write it; it is not rolled back",
             journal);
}

bool roll_back(const fs::path &path, FileKind kind)
{
    std::error_code error;
    const fs::path journal = path.string() + "-journal";
    if (!fs::exists(fs::symlink_status(journal, error)) || !fs::exists(path, error))
        return false;
    Database database(path, SQLITE_OPEN_READWRITE, kind);
    sqlite3_busy_timeout(database.get(), 10'000);
    database.integer("SELECT count(*) FROM sqlite_schema"); // the first read rolls back
    return !fs::exists(fs::symlink_status(journal, error));
}

} // namespace fencepost::trace
