// SPDX-License-Identifier: GPL-2.0-or-later
// See files.h.
#include "base/files.h"

#include <cerrno>
#include <cstdlib>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/interrupt.h"

namespace fencepost {

namespace fs = std::filesystem;

std::string read_file(const fs::path &path)
{
    const Fd fd = open_file(path, O_RDONLY);
    std::string text;
    char buffer[65536];
    for (;;) {
        const ssize_t got = read(fd.get(), buffer, sizeof buffer);
        if (got == 0)
            return text;
        if (got < 0) {
            if (errno == EINTR)
                continue;
            fail_errno(fmt::format("cannot read {}", path.string()));
        }
        text.append(buffer, static_cast<std::size_t>(got));
    }
}

std::string read_named_file(const fs::path &path)
{
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (status.type() == fs::file_type::not_found)
        fail(ErrorKind::usage, "there is no file {}", path.string());
    if (status.type() == fs::file_type::none || status.type() == fs::file_type::unknown)
        fail_errno(fmt::format("cannot read {}", path.string()), error.value());
    if (!fs::is_regular_file(status))
        fail(ErrorKind::usage, "{} is not a file", path.string());
    return read_file(path);
}

void write_file(const fs::path &path, std::string_view text)
{
    const fs::path beside = path.string() + fmt::format(".{}.new", getpid());
    try {
        unlink(beside.c_str()); // of a process with the same number; or a link that waits there
        const Fd fd(
            open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
        if (!fd)
            fail_errno(fmt::format("cannot write {}", path.string()));
        write_all(fd.get(), std::as_bytes(std::span(text.data(), text.size())), path);
        if (fsync(fd.get()) < 0)
            fail_errno(fmt::format("cannot write {}", path.string()));
        if (rename(beside.c_str(), path.c_str()) < 0)
            fail_errno(fmt::format("cannot write {}", path.string()));
    } catch (...) {
        unlink(beside.c_str());
        throw;
    }
}

void make_directories(const fs::path &path)
{
    std::error_code error;
    fs::create_directories(path, error);
    if (error)
        fail_errno(fmt::format("cannot make the directory {}", path.string()), error.value());
}

std::uint64_t free_bytes(const fs::path &path)
{
    std::error_code error;
    const fs::space_info space = fs::space(path, error);
    if (error)
        fail_errno(fmt::format("cannot ask for the free space of {}", path.string()),
                   error.value());
    return space.available;
}

void require_free_bytes(const fs::path &directory, std::uint64_t bytes)
{
    const std::uint64_t left = free_bytes(directory);
    if (left < bytes)
        fail(ErrorKind::io,
             "the disk is full: {} has {} MiB left, {} MiB are needed; free some space and run the "
             "command again",
             directory.string(), left >> 20, bytes >> 20);
}

void copy_sparse(const fs::path &from, const fs::path &to, std::uint64_t to_offset)
{
    const Fd in = open_file(from, O_RDONLY);
    const Fd out = open_file(to, O_WRONLY | O_CREAT | O_NOFOLLOW);
    struct stat status;
    if (fstat(in.get(), &status) < 0)
        fail_errno(fmt::format("cannot examine {}", from.string()));
    struct stat out_status;
    if (fstat(out.get(), &out_status) < 0)
        fail_errno(fmt::format("cannot examine {}", to.string()));
    const off_t shift = static_cast<off_t>(to_offset);
    if (out_status.st_size < shift + status.st_size &&
        ftruncate(out.get(), shift + status.st_size) < 0)
        fail_errno(fmt::format("cannot size {}", to.string()));
    std::vector<std::byte> buffer(1 << 20);
    for (off_t at = 0; at < status.st_size;) {
        const off_t data = lseek(in.get(), at, SEEK_DATA);
        if (data < 0)
            break;
        const off_t end = lseek(in.get(), data, SEEK_HOLE);
        for (at = data; at < end;) {
            const auto want =
                std::min<std::size_t>(buffer.size(), static_cast<std::size_t>(end - at));
            const ssize_t got = pread(in.get(), buffer.data(), want, at);
            if (got <= 0)
                fail_errno(fmt::format("cannot read {}", from.string()), got < 0 ? errno : EIO);
            if (pwrite(out.get(), buffer.data(), static_cast<std::size_t>(got), at + shift) != got)
                fail_errno(fmt::format("cannot write {}", to.string()));
            at += got;
        }
    }
}

TemporaryDirectory::TemporaryDirectory(const fs::path &parent, std::string_view prefix)
{
    make_directories(parent);
    std::string name = (parent / fmt::format("{}XXXXXX", prefix)).string();
    if (!mkdtemp(name.data()))
        fail_errno(fmt::format("cannot make a directory in {}", parent.string()));
    path_ = name;
}

TemporaryDirectory::TemporaryDirectory(TemporaryDirectory &&other) noexcept
    : path_(std::exchange(other.path_, fs::path()))
{
}

TemporaryDirectory::~TemporaryDirectory()
{
    std::error_code ignored;
    if (!path_.empty())
        fs::remove_all(path_, ignored);
}

FileLock FileLock::acquire(const fs::path &path)
{
    // flock(2) restarts after a signal, so a Ctrl-C would not end the wait: poll instead.
    for (;;) {
        if (auto lock = try_acquire(path))
            return std::move(*lock);
        wait_or_interrupt(std::chrono::milliseconds(20));
    }
}

std::optional<FileLock> FileLock::try_acquire(const fs::path &path)
{
    Fd fd = open_file(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK);
    if (flock(fd.get(), LOCK_EX | LOCK_NB) == 0)
        return FileLock(std::move(fd));
    if (errno == EWOULDBLOCK)
        return std::nullopt;
    fail_errno(fmt::format("cannot lock {}", path.string()));
}

bool FileLock::is_held(const fs::path &path)
{
    const Fd fd(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    return fd && flock(fd.get(), LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

} // namespace fencepost
