// SPDX-License-Identifier: GPL-2.0-or-later
// A file descriptor that closes itself, and the few system calls that hand one out.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <utility>

namespace fencepost {

class Fd {
public:
    Fd() = default;
    explicit Fd(int number) : number_(number) {}
    Fd(Fd &&other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Fd &operator=(Fd &&other) noexcept;
    ~Fd() { reset(); }

    int get() const { return number_; }
    explicit operator bool() const { return number_ >= 0; }
    void reset();
    // The number, which the caller closes from now on.
    int release() { return std::exchange(number_, -1); }

private:
    int number_ = -1;
};

// All are close-on-exec; they throw an `io` error that names the path.
Fd open_file(const std::filesystem::path &path, int flags, unsigned mode = 0644);
std::pair<Fd, Fd> socket_pair();
std::pair<Fd, Fd> make_pipe();

void write_all(int fd, std::span<const std::byte> bytes, const std::filesystem::path &path);

} // namespace fencepost
