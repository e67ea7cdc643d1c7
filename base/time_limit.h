// SPDX-License-Identifier: GPL-2.0-or-later
// A time limit that ends work which is under way, not only work that has not begun.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/deadline.h"

namespace fencepost {

// While it lives: once the deadline has passed, whoever waits in this process gets
// Error(interrupted), as for a signal. Limits may be nested.
class TimeLimit {
public:
    explicit TimeLimit(Deadline deadline);
    ~TimeLimit();
    TimeLimit(const TimeLimit &) = delete;
    TimeLimit &operator=(const TimeLimit &) = delete;

    // The deadline has passed, and no signal has come: the interruption is this limit's.
    bool reached() const;

private:
    void wait();

    const Deadline deadline_;
    std::atomic<bool> passed_ = false;
    std::mutex mutex_;
    std::condition_variable ends_;
    bool ended_ = false;
    std::thread thread_;
};

} // namespace fencepost
