/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the programs share: NAME create|run|check FILE [--bug=NAME] [--count=N], and PM through
 * mmap. `check` recovers what a crash left and exits with 0 if it is consistent, 1 if not, 2 if it
 * cannot tell.
 */
#ifndef TARGET_H
#define TARGET_H

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <immintrin.h>

#define LINE 64

#ifndef MAP_SYNC
#define MAP_SYNC 0x80000
#endif
#ifndef MAP_SHARED_VALIDATE
#define MAP_SHARED_VALIDATE 3
#endif

struct arguments {
    const char *verb;
    const char *file;
    const char *bug;
    unsigned count;
};

static struct arguments arguments = {"", "", "", 24};

static inline int has_bug(const char *name)
{
    return !strcmp(arguments.bug, name);
}

static inline void parse_arguments(int argc, char **argv, const char *const *bugs)
{
    int i;

    for (i = 1; i < argc; i++) {
        if (!strncmp(argv[i], "--bug=", 6))
            arguments.bug = argv[i] + 6;
        else if (!strncmp(argv[i], "--count=", 8))
            arguments.count = (unsigned)strtoul(argv[i] + 8, NULL, 10);
        else if (!*arguments.verb)
            arguments.verb = argv[i];
        else if (!*arguments.file)
            arguments.file = argv[i];
        else
            goto usage;
    }
    for (i = 0; *arguments.bug && bugs[i] && strcmp(arguments.bug, bugs[i]); i++)
        ;
    if (*arguments.bug && !bugs[i]) {
        fprintf(stderr, "%s: there is no variant '%s'\n", argv[0], arguments.bug);
        exit(2);
    }
    if (*arguments.file && (!strcmp(arguments.verb, "create") || !strcmp(arguments.verb, "run") ||
                            !strcmp(arguments.verb, "check")))
        return;
usage:
    fprintf(stderr, "usage: %s create|run|check FILE [--bug=NAME] [--count=N]\n", argv[0]);
    exit(2);
}

/* Why the contents are not consistent; for `return inconsistent(...)`. */
__attribute__((format(printf, 1, 2))) static inline int inconsistent(const char *format, ...)
{
    va_list values;

    va_start(values, format);
    vprintf(format, values);
    va_end(values);
    putchar('\n');
    return 1;
}

/* The file, shared; made and filled with zeros for `create`. */
static inline void *map_file(size_t bytes)
{
    const int creates = !strcmp(arguments.verb, "create");
    const int file = open(arguments.file, creates ? O_RDWR | O_CREAT | O_TRUNC : O_RDWR, 0644);
    void *map;

    if (file < 0 || (creates && (errno = posix_fallocate(file, 0, (off_t)bytes)))) {
        perror(arguments.file);
        exit(2);
    }
    map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED_VALIDATE | MAP_SYNC, file, 0);
    if (map == MAP_FAILED) /* no DAX: only for trying things out */
        map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (map == MAP_FAILED) {
        perror("mmap");
        exit(2);
    }
    if (creates) {
        memset(map, 0, bytes);
        if (msync(map, bytes, MS_SYNC)) {
            perror("msync");
            exit(2);
        }
    }
    close(file);
    return map;
}

static inline void flush(const void *at, size_t bytes)
{
    const char *line = (const char *)((uintptr_t)at & ~(uintptr_t)(LINE - 1));

    for (; line < (const char *)at + bytes; line += LINE)
        _mm_clwb((void *)line);
}

static inline void fence(void)
{
    _mm_sfence();
}

static inline void persist(const void *at, size_t bytes)
{
    flush(at, bytes);
    fence();
}

/* One store, that the compiler neither splits nor moves. */
static inline void put(volatile uint64_t *at, uint64_t value)
{
    *at = value;
}

/* Values that can be told from garbage. */
static inline uint64_t mixed(uint64_t value)
{
    value = (value + 1) * 0x9e3779b97f4a7c15ull;
    value ^= value >> 29;
    return value * 0xbf58476d1ce4e5b9ull | 1;
}

#endif
