/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two threads are in a write() at once, each to a pipe that is full; checkpoints say what goes on.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "qemu-plugin/marker/fencepost_marker.h"

#define FULL 4096

static char bytes[2 * FULL];

static void *fill(void *pipe)
{
    if (write(((int *)pipe)[1], bytes, sizeof bytes) != sizeof bytes)
        exit(1);
    return NULL;
}

/* Gives the thread; it is in its write(). */
static pthread_t start(int *ends)
{
    pthread_t thread;
    int there = 0;
    if (pipe(ends) != 0 || fcntl(ends[1], F_SETPIPE_SZ, FULL) != FULL ||
        pthread_create(&thread, NULL, fill, ends) != 0)
        exit(1);
    while (there < FULL) {
        usleep(1000);
        ioctl(ends[0], FIONREAD, &there);
    }
    return thread;
}

static void drain(int *ends, pthread_t thread)
{
    for (size_t done = 0; done < sizeof bytes;) {
        const ssize_t count = read(ends[0], bytes, sizeof bytes);
        if (count <= 0)
            exit(1);
        done += (size_t)count;
    }
    pthread_join(thread, NULL);
}

int main(void)
{
    int first_pipe[2];
    int second_pipe[2];
    const pthread_t first = start(first_pipe);
    const pthread_t second = start(second_pipe);
    fencepost_checkpoint(1, "both are in progress");
    drain(first_pipe, first);
    fencepost_checkpoint(2, "the first has returned");
    drain(second_pipe, second);
    fencepost_checkpoint(3, "both have returned");
    return 0;
}
