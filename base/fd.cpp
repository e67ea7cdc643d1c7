// SPDX-License-Identifier: GPL-2.0-or-later
// See fd.h.
#include "base/fd.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"

namespace fencepost {

Fd &Fd::operator=(Fd &&other) noexcept
{
    if (this != &other) {
        reset();
        number_ = std::exchange(other.number_, -1);
    }
    return *this;
}

void Fd::reset()
{
    if (number_ >= 0)
        close(number_);
    number_ = -1;
}

Fd open_file(const std::filesystem::path &path, int flags, unsigned mode)
{
    Fd fd(open(path.c_str(), flags | O_CLOEXEC, mode));
    if (!fd)
        fail_errno(fmt::format("cannot open {}", path.string()));
    return fd;
}

std::pair<Fd, Fd> socket_pair()
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        fail_errno("cannot make a socket pair");
    return {Fd(ends[0]), Fd(ends[1])};
}

std::pair<Fd, Fd> make_pipe()
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        fail_errno("cannot make a pipe");
    return {Fd(ends[0]), Fd(ends[1])};
}

void write_all(int fd, std::span<const std::byte> bytes, const std::filesystem::path &path)
{
    while (!bytes.empty()) {
        const ssize_t written = write(fd, bytes.data(), bytes.size());
        if (written < 0) {
            if (errno == EINTR)
                continue;
            fail_errno(fmt::format("cannot write {}", path.string()));
        }
        bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
}

} // namespace fencepost
