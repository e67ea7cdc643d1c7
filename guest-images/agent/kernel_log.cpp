// SPDX-License-Identifier: GPL-2.0-or-later
// See kernel_log.h. Records that were overwritten before they could be read show as a gap in the
// sequence numbers.
#include "guest-images/agent/kernel_log.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <poll.h>

namespace fencepost::agent {

namespace {

// Written in one go while more records wait: every write to a port is an exit to the host.
constexpr std::size_t kBatch = 16 << 10;
constexpr std::size_t kTailLimit = 4 << 20;

void write_out(int channel, std::string &lines)
{
    std::size_t done = 0;
    while (done < lines.size()) {
        const ssize_t put = write(channel, lines.data() + done, lines.size() - done);
        if (put > 0)
            done += static_cast<std::size_t>(put);
        else if (put == 0 || (errno != EINTR && errno != EAGAIN))
            break;
    }
    lines.clear();
}

} // namespace

std::string_view record_line(std::string_view record)
{
    return record.substr(0, record.find('\n'));
}

void stream_kernel_log(int channel)
{
    const Descriptor records(open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    std::string lines;
    if (!records) {
        lines =
            std::string("fencepost-agent: cannot read /dev/kmsg: ") + std::strerror(errno) + "\n";
        write_out(channel, lines);
        for (;;)
            pause();
    }
    for (;;) {
        char buffer[16384];
        const ssize_t got = read(records.get(), buffer, sizeof buffer);
        if (got > 0) {
            lines += record_line({buffer, static_cast<std::size_t>(got)});
            lines += '\n';
            if (lines.size() < kBatch)
                continue;
        } else if (got < 0 && (errno == EPIPE || errno == EINTR)) {
            continue;
        }
        write_out(channel, lines);
        if (got <= 0) {
            pollfd waited = {records.get(), POLLIN, 0};
            poll(&waited, 1, -1);
        }
    }
}

KernelLogTail::KernelLogTail(LogFrom from, const char *records)
    : records_(open(records, O_RDONLY | O_NONBLOCK | O_CLOEXEC))
{
    if (!records_)
        failure_ = std::string("cannot open it: ") + std::strerror(errno);
    else if (from == LogFrom::now)
        lseek(records_.get(), 0, SEEK_END);
}

std::string KernelLogTail::text()
{
    std::string lines;
    if (!records_)
        return lines;
    failure_.clear();
    char buffer[16384];
    for (;;) {
        const ssize_t got = read(records_.get(), buffer, sizeof buffer);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EPIPE) {
            failure_ = "records were overwritten before they were read";
            continue;
        }
        if (got < 0 && errno != EAGAIN)
            failure_ = std::string("cannot read it: ") + std::strerror(errno);
        if (got <= 0)
            return lines;
        lines += record_line({buffer, static_cast<std::size_t>(got)});
        lines += '\n';
        if (lines.size() >= kTailLimit) {
            failure_ = "it is too long";
            lseek(records_.get(), 0, SEEK_END);
            return lines;
        }
    }
}

void note_in_kernel_log(const std::string &text)
{
    const std::string line = "<4>fencepost-agent: " + text + "\n";
    const Descriptor log(open("/dev/kmsg", O_WRONLY | O_CLOEXEC));
    [[maybe_unused]] const ssize_t ignored = write(log.get(), line.data(), line.size());
}

} // namespace fencepost::agent
