// SPDX-License-Identifier: GPL-2.0-or-later
// A file descriptor that closes itself, for code that must build without exceptions.
#pragma once

#include <utility>

#include <unistd.h>

namespace fencepost::agent {

class Descriptor {
public:
    Descriptor() = default;
    explicit Descriptor(int number) : number_(number) {}
    Descriptor(Descriptor &&other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Descriptor &operator=(Descriptor &&other) noexcept
    {
        std::swap(number_, other.number_);
        return *this;
    }
    ~Descriptor() { reset(); }

    int get() const { return number_; }
    explicit operator bool() const { return number_ >= 0; }
    void reset()
    {
        if (number_ >= 0)
            close(number_);
        number_ = -1;
    }

private:
    int number_ = -1;
};

} // namespace fencepost::agent
