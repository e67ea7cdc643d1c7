// SPDX-License-Identifier: GPL-2.0-or-later
// See folder.h. Each name is one component, so openat(2) with O_NOFOLLOW follows nothing at all; no
// kernel's openat2(2) is needed.
#include "base/folder.h"

#include <algorithm>
#include <cerrno>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

namespace fencepost {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kLongestName = 128;

void check_name(const std::string &name)
{
    CHECK(!name.empty() && name != "." && name != ".." && name.find('/') == name.npos &&
              name.find('\0') == name.npos,
          "a plain name in a folder");
}

Fd open_below(int folder, const std::string &name)
{
    return Fd(openat(folder, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

} // namespace

bool is_plain_name(std::string_view name)
{
    return !name.empty() && name.size() <= kLongestName && name.front() != '.' &&
           name.find_first_not_of(
               "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_") == name.npos;
}

Folder::Folder(const fs::path &path) : fd_(open_file(path, O_PATH | O_DIRECTORY)), path_(path) {}

std::optional<Folder> Folder::below(const std::string &name) const
{
    check_name(name);
    Fd fd = open_below(fd_.get(), name);
    if (!fd && errno == ENOENT)
        return std::nullopt;
    if (!fd && (errno == ENOTDIR || errno == ELOOP))
        fail(ErrorKind::trace, "{} is {}, not a folder, so fencepost did not make it; move it away",
             (path_ / name).string(), kind_of(name) == Kind::link ? "a symbolic link" : "a file");
    if (!fd)
        fail_errno(fmt::format("cannot open {}", (path_ / name).string()));
    return Folder(std::move(fd), path_ / name);
}

Folder Folder::made_below(const std::string &name) const
{
    check_name(name);
    if (mkdirat(fd_.get(), name.c_str(), 0777) < 0 && errno != EEXIST)
        fail_errno(fmt::format("cannot make the directory {}", (path_ / name).string()));
    std::optional<Folder> made = below(name);
    if (!made)
        fail(ErrorKind::io, "{} vanished while it was made", (path_ / name).string());
    return std::move(*made);
}

Folder::Kind Folder::kind_of(const std::string &name) const
{
    check_name(name);
    struct stat status;
    if (fstatat(fd_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) < 0) {
        if (errno == ENOENT)
            return Kind::nothing;
        fail_errno(fmt::format("cannot look at {}", (path_ / name).string()));
    }
    if (S_ISREG(status.st_mode))
        return Kind::file;
    if (S_ISDIR(status.st_mode))
        return Kind::folder;
    return S_ISLNK(status.st_mode) ? Kind::link : Kind::other;
}

std::vector<std::string> Folder::names() const
{
    Fd list(openat(fd_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!list)
        fail_errno(fmt::format("cannot read {}", path_.string()));
    DIR *directory = fdopendir(list.get());
    if (!directory)
        fail_errno(fmt::format("cannot read {}", path_.string()));
    list.release(); // closedir() closes it
    std::vector<std::string> names;
    while (const dirent *entry = readdir(directory))
        if (const std::string_view name = entry->d_name; name != "." && name != "..")
            names.emplace_back(name);
    closedir(directory);
    std::sort(names.begin(), names.end());
    return names;
}

std::string Folder::read(const std::string &name, std::uint64_t most) const
{
    check_name(name);
    const std::string shown = (path_ / name).string();
    // Without O_NONBLOCK, a pipe of that name would wait for a writer.
    const Fd fd(openat(fd_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!fd && errno == ELOOP)
        fail(ErrorKind::trace, "{} is a symbolic link, so fencepost did not write it", shown);
    if (!fd)
        fail_errno(fmt::format("cannot open {}", shown));
    struct stat status;
    if (fstat(fd.get(), &status) < 0)
        fail_errno(fmt::format("cannot examine {}", shown));
    if (!S_ISREG(status.st_mode))
        fail(ErrorKind::trace, "{} is not a regular file, so fencepost did not write it", shown);
    const auto size = static_cast<std::uint64_t>(status.st_size);
    if (size > most)
        fail(ErrorKind::trace,
             "{} has {} bytes, which is more than fencepost ever writes there ({})", shown, size,
             most);
    std::string text(size, '\0');
    std::size_t filled = 0;
    while (filled < text.size()) {
        const ssize_t got = ::read(fd.get(), text.data() + filled, text.size() - filled);
        if (got < 0 && errno != EINTR)
            fail_errno(fmt::format("cannot read {}", shown));
        if (got == 0)
            break;
        filled += got > 0 ? static_cast<std::size_t>(got) : 0;
    }
    text.resize(filled);
    return text;
}

void Folder::write(const std::string &name, std::string_view text) const
{
    check_name(name);
    const fs::path shown = path_ / name;
    const std::string beside = fmt::format("{}.{}.new", name, getpid());
    // What a process with the same number left, or a link that waits for us.
    if (unlinkat(fd_.get(), beside.c_str(), 0) < 0 && errno != ENOENT)
        fail_errno(fmt::format("cannot write {}", shown.string()));
    const Fd fd(openat(fd_.get(), beside.c_str(),
                       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
    if (!fd)
        fail_errno(fmt::format("cannot write {}", shown.string()));
    try {
        write_all(fd.get(), std::as_bytes(std::span(text.data(), text.size())), shown);
        if (fsync(fd.get()) < 0 || renameat(fd_.get(), beside.c_str(), fd_.get(), name.c_str()) < 0)
            fail_errno(fmt::format("cannot write {}", shown.string()));
    } catch (...) {
        unlinkat(fd_.get(), beside.c_str(), 0);
        throw;
    }
}

void Folder::remove(const std::string &name) const
{
    check_name(name);
    if (unlinkat(fd_.get(), name.c_str(), 0) < 0 && errno != ENOENT)
        fail_errno(fmt::format("cannot remove {}", (path_ / name).string()));
}

bool Folder::remove_folder(const std::string &name) const
{
    check_name(name);
    if (unlinkat(fd_.get(), name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT)
        return true;
    if (errno == ENOTEMPTY || errno == EEXIST)
        return false;
    fail_errno(fmt::format("cannot remove {}", (path_ / name).string()));
}

} // namespace fencepost
