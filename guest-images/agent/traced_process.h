// SPDX-License-Identifier: GPL-2.0-or-later
// What a process that is traced has: arguments, memory, descriptors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <sys/stat.h>
#include <sys/types.h>
#include <sys/user.h>

namespace fencepost::agent {

struct DescriptorInfo {
    long long position = 0;
    unsigned flags = 0; // as in open(2)
};

// Of a system call, from 0. `entry`: the registers where it was entered.
std::uint64_t argument(const user_regs_struct &entry, int index);
// A string in its memory, up to its end or to where it cannot be read.
std::string text_at(pid_t thread, std::uint64_t address);
// The process that a thread is of.
pid_t process_of(pid_t thread);
// False, nothing: there is no such descriptor.
bool stat_of(pid_t thread, long descriptor, struct stat &status);
std::optional<DescriptorInfo> info_of(pid_t thread, long descriptor);

} // namespace fencepost::agent
