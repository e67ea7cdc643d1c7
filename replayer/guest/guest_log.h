// SPDX-License-Identifier: GPL-2.0-or-later
// What a guest says on its console and kernel log, taken in while it runs.
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/fd.h"
#include "replayer/guest/judged/kernel_crash.h"

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
    // What the kernel said when it panicked; empty: it did not. Looked for in the console too:
    // after a panic the agent, which feeds the kernel log, runs no more.
    std::string panic() const;
    // Readable as soon as a line of the kernel log or of the console tells a crash, in whatever
    // thread: after a panic nobody in the guest feeds the log.
    int crash_fd() const { return crash_fd_.get(); }
    // What they tell. Waits for all of it, and for a crash to be told at all, for at most this
    // long.
    std::optional<KernelCrash> wait_for_crash(std::chrono::milliseconds span) const;
    // Waits until everything that QEMU had written is taken in; only after QEMU has ended.
    void finish();

private:
    class BoundedText {
    public:
        void append(const char *data, std::size_t size);
        std::string text() const;
        // The rest of the first line that has it, itself included; empty: none has.
        std::string line_from(std::string_view needle) const;

    private:
        std::string head_;
        std::string tail_;
        std::size_t dropped_ = 0;
    };

    void read_channels();
    void watch(std::size_t channel, std::string_view text);
    std::optional<KernelCrash> crash() const;

    std::array<Fd, 3> channels_; // console, log_virtio, log_serial
    Fd stop_read_;
    Fd stop_write_;
    Fd crash_fd_;
    std::array<std::string, 3> unfinished_; // line of each channel
    bool crash_told_ = false;
    mutable std::mutex mutex_;
    mutable std::condition_variable grown_;
    BoundedText console_;
    BoundedText kernel_log_;
    std::thread reader_;
};

} // namespace fencepost::guest
