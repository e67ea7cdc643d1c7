// SPDX-License-Identifier: GPL-2.0-or-later
// usage: channel_garbage. Takes the control channel from the agent's server, our parent, and writes
// nonsense to it.
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
    const pid_t server = getppid();
    const int process = (int)syscall(SYS_pidfd_open, server, 0);
    for (int fd = 0; fd < 64; ++fd) {
        char link[64];
        char target[256] = "";
        snprintf(link, sizeof link, "/proc/%d/fd/%d", server, fd);
        if (readlink(link, target, sizeof target - 1) <= 0 ||
            (!strstr(target, "vport") && !strstr(target, "virtio-ports")))
            continue;
        const int channel = (int)syscall(SYS_pidfd_getfd, process, fd, 0);
        char garbage[4096];
        memset(garbage, 0xa5, sizeof garbage);
        for (int i = 0; i < 64; ++i)
            if (write(channel, garbage, sizeof garbage) < 0)
                break;
    }
    pause();
    return 0;
}
