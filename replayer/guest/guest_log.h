// SPDX-License-Identifier: GPL-2.0-or-later
// What a guest says on its console and kernel log, taken in while it runs.
#pragma once

#include <array>
#include <mutex>
#include <string>
#include <thread>

#include "base/fd.h"

namespace fencepost::guest {

// A thread reads the channels, because a guest stalls when nobody does. Each text is bounded:
// its beginning and its end are kept, so that a guest that floods its log costs no memory.
class GuestLog {
public:
    // `log` is whichever of the two log channels the guest chooses to use.
    GuestLog(Fd console, Fd log_virtio, Fd log_serial);
    ~GuestLog();

    std::string console() const;
    std::string kernel_log() const;
    // The kernel said it panicked. Looked for in the console too: after a panic the agent, which
    // feeds the kernel log, runs no more.
    bool panicked() const;
    // Waits until everything that QEMU had written is taken in; only after QEMU has ended.
    void finish();

private:
    class BoundedText {
    public:
        void append(const char *data, std::size_t size);
        std::string text() const;
        bool contains(std::string_view needle) const;

    private:
        std::string head_;
        std::string tail_;
        std::size_t dropped_ = 0;
    };

    void read_channels();

    std::array<Fd, 3> channels_; // console, log_virtio, log_serial
    Fd stop_read_;
    Fd stop_write_;
    mutable std::mutex mutex_;
    BoundedText console_;
    BoundedText kernel_log_;
    std::thread reader_;
};

} // namespace fencepost::guest
