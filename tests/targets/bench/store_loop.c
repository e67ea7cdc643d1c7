/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Nothing but 8-byte stores to a file in PM: the worst that a program can do to its recorder. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { AREA = 8 << 20 };

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: %s FILE STORES\n", argv[0]);
        return 2;
    }
    const int file = open(argv[1], O_RDWR | O_CREAT, 0644);
    if (file < 0 || posix_fallocate(file, 0, AREA) != 0) {
        perror(argv[1]);
        return 1;
    }
    volatile uint64_t *words = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (words == MAP_FAILED) {
        perror("mmap");
        return 1;
    }
    const uint64_t stores = strtoull(argv[2], NULL, 10);
    const uint64_t count = AREA / sizeof *words;
    for (uint64_t i = 0; i < stores; i++)
        words[i % count] = i;
    return 0;
}
