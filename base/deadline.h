// SPDX-License-Identifier: GPL-2.0-or-later
// Points in time by which something must have happened, and how long things took.
#pragma once

#include <chrono>
#include <optional>

namespace fencepost {

class Deadline {
public:
    static Deadline after(std::chrono::milliseconds span);
    static Deadline never() { return Deadline(); }

    bool passed() const;
    // For poll(2): milliseconds left, rounded up; 0 when passed, -1 for never.
    int poll_timeout() const;
    Deadline earlier_of(std::chrono::milliseconds span) const;

private:
    std::optional<std::chrono::steady_clock::time_point> at_;
};

class Stopwatch {
public:
    double seconds() const;

private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

} // namespace fencepost
