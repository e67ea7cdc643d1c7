/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Data in the first page of a file, then a flag in the second: always persisted in this order, but
 * the data through a mapping whose page nobody has touched.
 * usage: other-mappings FILE NUMBER WAY    the number is part of what is stored
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096
#define DATA 0x4242424242420000ull
#define FLAG 0x4343434343430000ull

typedef volatile uint64_t word;

static uint64_t number;

static void clwb(word *at)
{
    __asm__ volatile("clwb %0" : : "m"(*at) : "memory");
}

static void sfence(void)
{
    __asm__ volatile("sfence" : : : "memory");
}

static int open_file(const char *name)
{
    const int file = open(name, O_RDWR | O_CREAT, 0644);
    if (file < 0 || posix_fallocate(file, 0, 2 * PAGE) != 0) {
        perror(name);
        exit(1);
    }
    return file;
}

static word *map_at(void *at, int file)
{
    word *mapping =
        mmap(at, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | (at ? MAP_FIXED : 0), file, 0);
    if (mapping == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }
    return mapping;
}

static void put_data(word *mapping)
{
    mapping[0] = DATA | number;
}

static void persist(word *at)
{
    clwb(at);
    sfence();
}

static void publish(word *mapping)
{
    mapping[PAGE / 8] = FLAG | number;
    persist(mapping + PAGE / 8);
}

/* Runs in a child, to its end. */
#define IN_CHILD(work)                                                                             \
    do {                                                                                           \
        if (fork() == 0) {                                                                         \
            work;                                                                                  \
            _exit(0);                                                                              \
        }                                                                                          \
        wait(NULL);                                                                                \
    } while (0)

/* Nobody ever touches the page through the second mapping. */
static void untouched(int file)
{
    word *const first = map_at(NULL, file);
    word *const second = map_at(NULL, file);
    put_data(first);
    persist(second);
    publish(first);
}

/* The page appears when it is read. */
static void read_later(int file)
{
    word *const first = map_at(NULL, file);
    word *const second = map_at(NULL, file);
    put_data(first);
    persist(second);
    (void)second[8];
    publish(first);
}

/* Other memory is unmapped before the page appears. */
static void unmapped_elsewhere(int file)
{
    void *const other = mmap(NULL, 16 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    word *const first = map_at(NULL, file);
    word *const second = map_at(NULL, file);
    put_data(first);
    persist(second);
    munmap(other, 16 * PAGE);
    second[16] = 1;
    persist(second + 16);
    publish(first);
}

/* The page is brought by the kernel: it reads a name from there that is no name. */
static void read_by_kernel(int file)
{
    word *const first = map_at(NULL, file);
    word *const second = map_at(NULL, file);
    put_data(first);
    persist(second);
    access((const char *)(second + 8), F_OK);
    publish(first);
}

static void by_child(int file)
{
    word *const mapping = map_at(NULL, file);
    put_data(mapping);
    IN_CHILD(persist(mapping));
    publish(mapping);
}

static void published_by_child(int file)
{
    word *const mapping = map_at(NULL, file);
    put_data(mapping);
    IN_CHILD(persist(mapping); publish(mapping));
}

/* The parent, which has no page either, has two children at once. */
static void by_sibling(int file)
{
    word *const mapping = map_at(NULL, file);
    int stored[2], persisted[2];
    char byte = 0;
    if (pipe(stored) != 0 || pipe(persisted) != 0)
        exit(1);
    if (fork() == 0) {
        put_data(mapping);
        if (write(stored[1], &byte, 1) != 1 || read(persisted[0], &byte, 1) != 1)
            _exit(1);
        publish(mapping);
        _exit(0);
    }
    if (fork() == 0) {
        if (read(stored[0], &byte, 1) != 1)
            _exit(1);
        persist(mapping);
        if (write(persisted[1], &byte, 1) != 1)
            _exit(1);
        _exit(0);
    }
    wait(NULL);
    wait(NULL);
}

/* The parent puts another file where the child has the first: what the child flushes is not what
 * the parent has stored. */
static void of_another_file(int file, const char *name)
{
    char other_name[256];
    snprintf(other_name, sizeof other_name, "%s.other", name);
    const int other = open_file(other_name);
    word *const mapping = map_at(NULL, file);
    word *const flag = map_at(NULL, file);
    int stored[2];
    char byte = 0;
    if (pipe(stored) != 0)
        exit(1);
    if (fork() == 0) {
        if (read(stored[0], &byte, 1) != 1)
            _exit(1);
        persist(mapping);
        _exit(0);
    }
    map_at((void *)mapping, other);
    put_data(mapping);
    if (write(stored[1], &byte, 1) != 1)
        exit(1);
    wait(NULL);
    publish(flag);
}

/* The mapping gets another address before it is used. */
static void moved(int file)
{
    word *const first = map_at(NULL, file);
    word *const second = map_at(NULL, file);
    word *const there = mremap((void *)second, 2 * PAGE, 4 * PAGE, MREMAP_MAYMOVE);
    if (there == MAP_FAILED)
        exit(1);
    put_data(first);
    persist(there);
    publish(first);
}

/* Another file is mapped over the second one: what is flushed there is not what was stored. */
static void replaced(int file, const char *name)
{
    char other_name[256];
    snprintf(other_name, sizeof other_name, "%s.other", name);
    word *const first = map_at(NULL, file);
    word *const second = map_at(NULL, file);
    map_at((void *)second, open_file(other_name));
    put_data(first);
    persist(second);
    publish(first);
}

#define THREADS 8

static word *of_threads;

static void *persist_a_line(void *line)
{
    persist(of_threads + 8 * (uintptr_t)line);
    return NULL;
}

/* Each thread persists one line, and none of them has the page. */
static void by_threads(int file)
{
    word *const first = map_at(NULL, file);
    pthread_t threads[THREADS];
    of_threads = map_at(NULL, file);
    for (uintptr_t i = 0; i < THREADS; ++i)
        first[8 * i] = DATA | number;
    for (uintptr_t i = 0; i < THREADS; ++i)
        if (pthread_create(&threads[i], NULL, persist_a_line, (void *)i) != 0)
            exit(1);
    for (int i = 0; i < THREADS; ++i)
        pthread_join(threads[i], NULL);
    publish(first);
}

/* Nobody can know that the second one is the same file. */
static void opened_again(int file, const char *name)
{
    word *const first = map_at(NULL, file);
    word *const second = map_at(NULL, open_file(name));
    put_data(first);
    persist(second);
    publish(first);
}

/* By another program, which has opened the file by itself. */
static void by_program(int file, const char *name)
{
    word *const mapping = map_at(NULL, file);
    put_data(mapping);
    IN_CHILD(execl("/proc/self/exe", "other-mappings", name, "0", "persist_only", NULL));
    publish(mapping);
}

/* By a process that is killed before it touches the page. */
static void by_killed(int file, const char *name)
{
    word *const mapping = map_at(NULL, file);
    put_data(mapping);
    IN_CHILD(persist(map_at(NULL, open_file(name))); raise(SIGKILL));
    publish(mapping);
}

static void persist_only(int file)
{
    persist(map_at(NULL, file));
}

static const struct way {
    const char *name;
    void (*with_file)(int file);
    void (*with_name)(int file, const char *name);
} ways[] = {
    {"untouched", untouched, NULL},
    {"read_later", read_later, NULL},
    {"unmapped_elsewhere", unmapped_elsewhere, NULL},
    {"read_by_kernel", read_by_kernel, NULL},
    {"by_child", by_child, NULL},
    {"published_by_child", published_by_child, NULL},
    {"by_sibling", by_sibling, NULL},
    {"moved", moved, NULL},
    {"by_threads", by_threads, NULL},
    {"persist_only", persist_only, NULL},
    {"replaced", NULL, replaced},
    {"of_another_file", NULL, of_another_file},
    {"opened_again", NULL, opened_again},
    {"by_program", NULL, by_program},
    {"by_killed", NULL, by_killed},
};

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: %s FILE NUMBER WAY\n", argv[0]);
        return 2;
    }
    const int file = open_file(argv[1]);
    number = strtoull(argv[2], NULL, 0);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i) {
        if (strcmp(argv[3], ways[i].name) != 0)
            continue;
        if (ways[i].with_file)
            ways[i].with_file(file);
        else
            ways[i].with_name(file, argv[1]);
        return 0;
    }
    return 2;
}
