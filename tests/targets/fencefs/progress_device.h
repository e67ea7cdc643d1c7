// SPDX-License-Identifier: GPL-2.0-or-later
// How far the operations of stress.cpp have come, kept on a device that outlives the machine.
#pragma once

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <unistd.h>

[[noreturn]] inline void stop(const std::string &why)
{
    std::fprintf(stderr, "stress: %s\n", why.c_str());
    std::_Exit(1);
}

inline void require(bool good, const std::string &what)
{
    if (!good)
        stop(what + ": " + std::strerror(errno));
}

struct Progress {
    std::uint64_t begun = 0;
    std::uint64_t done = 0;
};

class ProgressDevice {
    static constexpr std::size_t kBlock = 4096; // a thread's

public:
    explicit ProgressDevice(const char *path) : file_(::open(path, O_RDWR | O_DIRECT))
    {
        require(file_ >= 0, path);
    }

    Progress read(int thread)
    {
        alignas(kBlock) char block[kBlock];
        require(::pread(file_, block, kBlock, thread * static_cast<off_t>(kBlock)) == kBlock,
                "read progress");
        Progress progress;
        std::memcpy(&progress, block, sizeof(progress));
        return progress;
    }
    void write(int thread, const Progress &progress)
    {
        alignas(kBlock) char block[kBlock] = {};
        std::memcpy(block, &progress, sizeof(progress));
        require(::pwrite(file_, block, kBlock, thread * static_cast<off_t>(kBlock)) == kBlock,
                "write progress");
    }

private:
    int file_;
};
