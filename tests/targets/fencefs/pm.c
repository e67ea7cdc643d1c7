/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bytes to PM. */
#include <linux/mm.h>

#include "fencefs.h"

void fencefs_flush(const void *at, size_t bytes)
{
    const char *line = (const char *)((unsigned long)at & ~63ul);

    for (; line < (const char *)at + bytes; line += 64)
        clwb((void *)line);
}

void fencefs_fence(void)
{
    wmb();
}

void fencefs_stream(void *to, const void *from, size_t bytes)
{
    memcpy_flushcache(to, from, bytes);
}

void fencefs_stream_zeros(void *to, size_t bytes)
{
    while (bytes) {
        const size_t part = min_t(size_t, bytes, PAGE_SIZE);

        memcpy_flushcache(to, page_address(ZERO_PAGE(0)), part);
        to += part;
        bytes -= part;
    }
}
