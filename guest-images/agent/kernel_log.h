// SPDX-License-Identifier: GPL-2.0-or-later
// The kernel log: reading it for the host, and the agent's own words in it.
#pragma once

#include <string>
#include <string_view>

#include "guest-images/agent/descriptor.h"

namespace fencepost::agent {

// The log process: streams every record, from the oldest that the kernel still has, as one line.
[[noreturn]] void stream_kernel_log(int channel);

// A record of /dev/kmsg as one line: "priority,sequence,usec,flags;text" without the dictionary
// that may follow it on lines of its own.
std::string_view record_line(std::string_view record);

enum class LogFrom { now, oldest };

// The records that came in since it was opened, or all; bounded.
class KernelLogTail {
public:
    explicit KernelLogTail(LogFrom from = LogFrom::now, const char *records = "/dev/kmsg");

    // One line each; those that were returned before are not again.
    std::string text();
    // Why that was not all there is to return; empty: it was.
    const std::string &failure() const { return failure_; }

private:
    Descriptor records_;
    std::string failure_;
};

void note_in_kernel_log(const std::string &text);

} // namespace fencepost::agent
