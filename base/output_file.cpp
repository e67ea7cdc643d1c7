// SPDX-License-Identifier: GPL-2.0-or-later
// See output_file.h.
#include "base/output_file.h"

#include <cerrno>
#include <cstdio>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

namespace fencepost {

namespace fs = std::filesystem;

namespace {

bool is_stream_mode(mode_t mode)
{
    return S_ISCHR(mode) || S_ISFIFO(mode);
}

[[noreturn]] void fail_output(const fs::path &path)
{
    const int error = errno;
    if (error == ENAMETOOLONG || error == ELOOP)
        fail(ErrorKind::usage, "cannot write {}: {}", path.string(),
             std::generic_category().message(error));
    fail_errno(fmt::format("cannot write {}", path.string()), error);
}

// True: a device or a pipe.
bool judge_output(const fs::path &path, Overwrite overwrite)
{
    struct stat status;
    if (path.empty())
        fail(ErrorKind::usage, "an output file has no name");
    if (lstat(path.c_str(), &status) < 0) {
        if (errno != ENOENT)
            fail_output(path);
        if (path.filename().empty())
            fail(ErrorKind::usage, "{} is a folder's name; name a file", path.string());
        return false;
    }
    if (S_ISLNK(status.st_mode)) {
        struct stat target;
        if (stat(path.c_str(), &target) == 0 && is_stream_mode(target.st_mode))
            return true;
        fail(ErrorKind::usage, "{} is a symbolic link, which is not replaced; name the file itself",
             path.string());
    }
    if (S_ISDIR(status.st_mode))
        fail(ErrorKind::usage, "{} is a folder; name a file", path.string());
    if (is_stream_mode(status.st_mode))
        return true;
    if (!S_ISREG(status.st_mode))
        fail(ErrorKind::usage, "{} is a {}, which is not written to; name a file", path.string(),
             S_ISBLK(status.st_mode) ? "block device" : "socket");
    if (overwrite == Overwrite::no)
        fail(ErrorKind::usage, "{} is there already; --force replaces it", path.string());
    return false;
}

} // namespace

void check_output(const fs::path &path, Overwrite overwrite)
{
    judge_output(path, overwrite);
}

OutputFile::OutputFile(const fs::path &path, Overwrite overwrite)
    : path_(path), overwrite_(overwrite)
{
    if (judge_output(path, overwrite)) {
        fd_ = Fd(open(path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC));
        if (!fd_)
            fail_output(path);
        struct stat status;
        if (fstat(fd_.get(), &status) < 0 || !is_stream_mode(status.st_mode))
            fail(ErrorKind::usage, "{} is not a device any more", path.string());
        return;
    }
    folder_ = Fd(open(path.has_parent_path() ? path.parent_path().c_str() : ".",
                      O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!folder_)
        fail_output(path);
    name_ = path.filename().string();
    beside_ = fmt::format(".{}.{}.new", name_.substr(0, 200), getpid());
    unlinkat(folder_.get(), beside_.c_str(), 0);
    fd_ = Fd(openat(folder_.get(), beside_.c_str(),
                    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
    if (!fd_)
        fail_output(path);
}

OutputFile::~OutputFile()
{
    if (!beside_.empty() && fd_)
        unlinkat(folder_.get(), beside_.c_str(), 0);
}

void OutputFile::finish()
{
    if (is_stream())
        return;
    if (fsync(fd_.get()) < 0)
        fail_output(path_);
    // Meanwhile something else may have got the name.
    judge_output(path_, overwrite_);
    const bool done =
        overwrite_ == Overwrite::yes
            ? renameat(folder_.get(), beside_.c_str(), folder_.get(), name_.c_str()) == 0
            : renameat2(folder_.get(), beside_.c_str(), folder_.get(), name_.c_str(),
                        RENAME_NOREPLACE) == 0 ||
                  // Not every file system can do that; a link is never made over a file.
                  ((errno == EINVAL || errno == ENOSYS) &&
                   linkat(folder_.get(), beside_.c_str(), folder_.get(), name_.c_str(), 0) == 0 &&
                   unlinkat(folder_.get(), beside_.c_str(), 0) == 0);
    if (!done && errno == EEXIST)
        fail(ErrorKind::usage, "{} is there already; --force replaces it", path_.string());
    if (!done)
        fail_output(path_);
    fd_.reset();
}

void write_output(const fs::path &path, std::string_view text, Overwrite overwrite)
{
    OutputFile file(path, overwrite);
    write_all(file.fd(), std::as_bytes(std::span(text.data(), text.size())), path);
    file.finish();
}

} // namespace fencepost
