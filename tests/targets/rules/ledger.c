/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps sums in PM: one function right, the others each wrong in one way. ledger FILE, on a file
 * system with DAX. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fencepost_marker.h"

struct entry {
    uint64_t sum;
    uint64_t count;
    char unused[48];
};

struct ledger {
    struct entry entry;
    uint64_t valid;
    char unused[56];
    uint64_t notes[8];
};

struct ledger *ledger;

#define NOINLINE __attribute__((noinline))

static inline void flush(const volatile void *address)
{
    __asm__ volatile("clwb %0" : : "m"(*(const volatile char *)address) : "memory");
}

static inline void fence(void)
{
    __asm__ volatile("sfence" : : : "memory");
}

static NOINLINE void add_right(uint64_t value)
{
    ledger->entry.sum += value;
    ledger->entry.count++;
    flush(&ledger->entry);
    fence();
    ledger->valid = 1;
    flush(&ledger->valid);
    fence();
}

/* valid can be there without the entry. */
static NOINLINE void add_unordered(uint64_t value)
{
    ledger->entry.sum += value;
    flush(&ledger->entry);
    ledger->valid = 2;
    flush(&ledger->valid);
    fence();
}

/* The epoch ends and its note is in the cache. */
static NOINLINE void note_in_epoch(uint64_t value)
{
    fencepost_epoch(1);
    ledger->notes[0] = value;
    fencepost_epoch_end();
    flush(&ledger->notes[0]);
    fence();
}

static NOINLINE void flush_twice(uint64_t value)
{
    ledger->entry.count = value;
    flush(&ledger->entry.count);
    flush(&ledger->entry.sum);
    fence();
}

static NOINLINE void fence_twice(uint64_t value)
{
    ledger->entry.count = value;
    flush(&ledger->entry.count);
    fence();
    fence();
}

static NOINLINE void forget(uint64_t value)
{
    ledger->notes[1] = value;
}

int main(int argc, char **argv)
{
    const int file = argc == 2 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;
    if (file < 0 || ftruncate(file, 4096) != 0)
        return 2;
    ledger = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED_VALIDATE | MAP_SYNC, file, 0);
    if (ledger == MAP_FAILED) {
        perror("mmap");
        return 3;
    }
    ledger->valid = 0; /* a page that was not touched has no place to tell of */
    flush(&ledger->valid);
    fence();
    fencepost_range(ledger, sizeof *ledger, "ledger");
    add_right(5);
    add_unordered(6);
    note_in_epoch(7);
    flush_twice(8);
    fence_twice(9);
    forget(10);
    return 0;
}
