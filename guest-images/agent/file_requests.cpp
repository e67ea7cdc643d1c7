// SPDX-License-Identifier: GPL-2.0-or-later
// See file_requests.h. Files are opened non-blocking, so that a FIFO cannot hold the server up.
#include "guest-images/agent/file_requests.h"

#include <algorithm>

#include <fcntl.h>
#include <sys/stat.h>

#include "guest-images/agent/descriptor.h"

namespace fencepost::agent {

namespace {

// Reads until `length` bytes or the end; the end is only known when a read has returned nothing.
bool read_up_to(int fd, std::uint64_t offset, std::size_t length, ReadFileReply &reply)
{
    while (reply.data.size() <= length) {
        char buffer[65536];
        const std::size_t wanted = std::min(sizeof buffer, length + 1 - reply.data.size());
        // Files of /proc and devices that cannot seek are read from where they are.
        ssize_t got = pread(fd, buffer, wanted, static_cast<off_t>(offset + reply.data.size()));
        if (got < 0 && errno == ESPIPE && offset == 0)
            got = read(fd, buffer, wanted);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return false;
        if (got == 0) {
            reply.at_end = true;
            return true;
        }
        reply.data.append(buffer, static_cast<std::size_t>(got));
    }
    reply.data.resize(length);
    return true;
}

} // namespace

Outcome<ReadFileReply> read_file(const ReadFileRequest &request)
{
    const std::string what = "read " + request.path;
    if (request.max_length > kDataLimit)
        return failure(what + ": too much at once", EINVAL);
    const Descriptor file(open(request.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!file)
        return failure(what);
    ReadFileReply reply;
    if (!read_up_to(file.get(), request.offset, request.max_length, reply))
        return failure(what);
    return reply;
}

Outcome<WriteFileReply> write_file(const WriteFileRequest &request)
{
    const std::string what = "write " + request.path;
    const std::size_t slash = request.path.rfind('/');
    if (slash != std::string::npos && slash > 0 && !make_directories(request.path.substr(0, slash)))
        return failure(what + ": its directory");
    const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    const Descriptor file(open(request.path.c_str(), flags | (request.truncate ? O_TRUNC : 0),
                               static_cast<mode_t>(request.mode)));
    if (!file)
        return failure(what);
    std::size_t done = 0;
    while (done < request.data.size()) {
        const char *from = request.data.data() + done;
        const std::size_t left = request.data.size() - done;
        ssize_t put = pwrite(file.get(), from, left, static_cast<off_t>(request.offset + done));
        if (put < 0 && errno == ESPIPE && request.offset == 0)
            put = write(file.get(), from, left);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return failure(what);
        done += static_cast<std::size_t>(put);
    }
    return WriteFileReply();
}

bool make_directories(const std::string &path)
{
    for (std::size_t end = 1; end <= path.size(); ++end) {
        if (end != path.size() && path[end] != '/')
            continue;
        if (mkdir(path.substr(0, end).c_str(), 0755) == 0 || errno == EEXIST)
            continue;
        // A read-only file system says EROFS where the directory is already there.
        const int error_number = errno;
        struct stat found;
        if (stat(path.substr(0, end).c_str(), &found) < 0 || !S_ISDIR(found.st_mode)) {
            errno = error_number;
            return false;
        }
    }
    return true;
}

std::string read_line(const std::string &path)
{
    const auto outcome = read_file({path, 0, 65536});
    const auto *reply = std::get_if<ReadFileReply>(&outcome);
    if (!reply)
        return "";
    std::string text = reply->data;
    while (!text.empty() && text.back() == '\n')
        text.pop_back();
    return text;
}

} // namespace fencepost::agent
