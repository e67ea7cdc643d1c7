// SPDX-License-Identifier: GPL-2.0-or-later
// See guest_log.h.
#include "replayer/guest/guest_log.h"

#include <cstdint>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/error.h"
#include "replayer/guest/judged/log_patterns.h"

namespace fencepost::guest {

namespace {

constexpr std::size_t kHeadLimit = 256 << 10;
constexpr std::size_t kTailLimit = 1 << 20;
constexpr std::size_t kLineLimit = 4096; // of what is watched

} // namespace

void GuestLog::BoundedText::append(const char *data, std::size_t size)
{
    const std::size_t to_head = std::min(size, kHeadLimit - head_.size());
    head_.append(data, to_head);
    tail_.append(data + to_head, size - to_head);
    if (tail_.size() > 2 * kTailLimit) { // halves at a time, so that appending stays cheap
        dropped_ += tail_.size() - kTailLimit;
        tail_.erase(0, tail_.size() - kTailLimit);
    }
}

std::string GuestLog::BoundedText::text() const
{
    return dropped_ ? fmt::format("{}\n[{} bytes left out]\n{}", head_, dropped_, tail_)
                    : head_ + tail_;
}

std::string GuestLog::BoundedText::line_from(std::string_view needle) const
{
    const std::string all = head_ + tail_;
    const std::size_t begin = all.find(needle);
    if (begin == all.npos)
        return "";
    return all.substr(begin, std::min(all.find_first_of("\r\n", begin) - begin, kLineLimit));
}

GuestLog::GuestLog(Fd console, Fd log_virtio, Fd log_serial)
    : channels_{std::move(console), std::move(log_virtio), std::move(log_serial)}
{
    std::tie(stop_read_, stop_write_) = make_pipe();
    crash_fd_ = Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!crash_fd_)
        fail_errno("cannot watch a guest's log");
    reader_ = std::thread([this] { read_channels(); });
}

GuestLog::~GuestLog()
{
    stop_write_.reset();
    if (reader_.joinable())
        reader_.join();
}

std::string GuestLog::console() const
{
    const std::lock_guard guard(mutex_);
    return console_.text();
}

std::string GuestLog::kernel_log() const
{
    const std::lock_guard guard(mutex_);
    return kernel_log_.text();
}

std::string GuestLog::panic() const
{
    const std::lock_guard guard(mutex_);
    const std::string shown = console_.line_from(kPanic);
    return shown.empty() ? kernel_log_.line_from(kPanic) : shown;
}

std::optional<KernelCrash> GuestLog::crash() const
{
    if (!crash_told_)
        return std::nullopt;
    auto logged = find_kernel_crash(kernel_log_.text());
    if (logged && logged->complete)
        return logged;
    // The agent cannot always go on sending the log; the console's writer is the kernel itself.
    auto shown = find_kernel_crash(console_.text());
    return shown && (!logged || shown->complete) ? shown : logged;
}

std::optional<KernelCrash> GuestLog::wait_for_crash(std::chrono::milliseconds span) const
{
    std::unique_lock lock(mutex_);
    std::optional<KernelCrash> told;
    grown_.wait_for(lock, span, [&] {
        told = crash();
        return told && told->complete;
    });
    return told;
}

void GuestLog::watch(std::size_t channel, std::string_view text)
{
    std::string &line = unfinished_[channel];
    while (!text.empty()) {
        const std::size_t newline = text.find('\n');
        line += text.substr(0, std::min(newline, text.size()));
        if (newline == std::string_view::npos && line.size() < kLineLimit)
            return;
        if (!crash_told_ && tells_crash(parse_record(line))) {
            crash_told_ = true;
            constexpr std::uint64_t kOne = 1;
            [[maybe_unused]] const ssize_t told = write(crash_fd_.get(), &kOne, sizeof kOne);
        }
        line.clear();
        text.remove_prefix(newline == std::string_view::npos ? text.size() : newline + 1);
    }
}

void GuestLog::finish()
{
    if (reader_.joinable())
        reader_.join(); // it ends by itself at the end of all channels
}

void GuestLog::read_channels()
{
    while (channels_[0] || channels_[1] || channels_[2]) {
        std::array<pollfd, 4> waited = {{{channels_[0].get(), POLLIN, 0},
                                         {channels_[1].get(), POLLIN, 0},
                                         {channels_[2].get(), POLLIN, 0},
                                         {stop_read_.get(), POLLIN, 0}}};
        poll(waited.data(), waited.size(), -1);
        if (waited[3].revents)
            return;
        for (std::size_t i = 0; i < channels_.size(); ++i) {
            if (!waited[i].revents)
                continue;
            char buffer[16384];
            const ssize_t got = read(channels_[i].get(), buffer, sizeof buffer);
            if (got <= 0) {
                channels_[i].reset();
                continue;
            }
            const std::lock_guard guard(mutex_);
            (i == 0 ? console_ : kernel_log_).append(buffer, static_cast<std::size_t>(got));
            watch(i, {buffer, static_cast<std::size_t>(got)});
            grown_.notify_all();
        }
    }
}

} // namespace fencepost::guest
