// SPDX-License-Identifier: GPL-2.0-or-later
// See traced_process.h.
#include "guest-images/agent/traced_process.h"

#include <cstdio>
#include <string_view>

#include <sys/uio.h>

namespace fencepost::agent {

namespace {

constexpr std::size_t kMostPath = 4096; // and a page

} // namespace

std::uint64_t argument(const user_regs_struct &entry, int index)
{
    const std::uint64_t arguments[] = {entry.rdi, entry.rsi, entry.rdx,
                                       entry.r10, entry.r8,  entry.r9};
    return arguments[index];
}

std::string text_at(pid_t thread, std::uint64_t address)
{
    std::string text;
    while (text.size() < kMostPath) {
        char page[kMostPath];
        const std::uint64_t from = address + text.size();
        const iovec local = {page, kMostPath - from % kMostPath};
        const iovec remote = {reinterpret_cast<void *>(from), local.iov_len};
        const ssize_t got = process_vm_readv(thread, &local, 1, &remote, 1, 0);
        if (got <= 0)
            break;
        const std::string_view read(page, static_cast<std::size_t>(got));
        text += read.substr(0, read.find('\0'));
        if (read.find('\0') != std::string_view::npos)
            break;
    }
    return text;
}

pid_t process_of(pid_t thread)
{
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%d/status", thread);
    FILE *file = std::fopen(path, "re");
    int process = thread;
    char line[256];
    while (file && std::fgets(line, sizeof line, file) &&
           std::sscanf(line, "Tgid: %d", &process) != 1) {
    }
    if (file)
        std::fclose(file);
    return process;
}

bool stat_of(pid_t thread, long descriptor, struct stat &status)
{
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%d/fd/%ld", thread, descriptor);
    return stat(path, &status) == 0;
}

std::optional<DescriptorInfo> info_of(pid_t thread, long descriptor)
{
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%d/fdinfo/%ld", thread, descriptor);
    FILE *file = std::fopen(path, "re");
    if (!file)
        return std::nullopt;
    DescriptorInfo info;
    const bool known = std::fscanf(file, "pos: %lld flags: %o", &info.position, &info.flags) == 2;
    std::fclose(file);
    return known ? std::optional(info) : std::nullopt;
}

} // namespace fencepost::agent
