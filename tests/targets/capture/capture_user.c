/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Does all operations on a file in PM, through two mappings, and prints what it did. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "operations.h"
#include "qemu-plugin/marker/fencepost_marker.h"

#define RECORDS 20000

static struct capture_record records[RECORDS];

static uint8_t *map(int file, int flags)
{
    uint8_t *base = mmap(NULL, CAPTURE_AREA, PROT_READ | PROT_WRITE, MAP_SHARED | flags, file, 0);
    if (base == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }
    return base;
}

/* Where each page of the area is in PM shows from these: the page's number, as the first store to
 * it. */
static void name_pages(struct capture *c)
{
    for (uint32_t at = 0; at < CAPTURE_AREA; at += 4096) {
        *(volatile uint64_t *)(c->base + at) = 0xfe9ce9057000ull + at / 4096;
        capture_stored(c, __LINE__, "store", "plain", c->base + at, 8, 0);
    }
}

static void __attribute__((noinline)) through_32_bit_addresses(struct capture *c)
{
    uint8_t *p = capture_place(c, 8, 0);
    uint64_t v = capture_value(c);
    __asm__ volatile("addr32 movq %[v], (%k[p])" : : [p] "r"(p), [v] "r"(v) : "memory");
    capture_stored(c, __LINE__, "store", "plain", p, 8, 0);
    __asm__ volatile("mov $1, %%ecx\n lea -8(%[p]), %%rdx\n addr32 clwb (%%edx,%%ecx,8)"
                     :
                     : [p] "r"(p)
                     : "memory", "rcx", "rdx");
    capture_add(c, __LINE__, "flush", "clwb")->offset = (uint32_t)(p - c->base);
}

/* A call chain for the stacks: main, outer, middle, inner. */
static void __attribute__((noinline, noclone)) inner(struct capture *c)
{
    uint8_t *p = capture_place(c, 8, 0);
    *(volatile uint64_t *)p = 0x1111;
    capture_stored(c, __LINE__, "store", "plain", p, 8, 0);
    __asm__ volatile("");
}

static void __attribute__((noinline, noclone)) middle(struct capture *c)
{
    inner(c);
    __asm__ volatile("");
}

static void __attribute__((noinline, noclone)) outer(struct capture *c)
{
    middle(c);
    __asm__ volatile("");
}

static void __attribute__((noinline, noclone)) volatile_flushes(void)
{
    static uint8_t line[64];
    for (int i = 0; i < 3; i++)
        __asm__ volatile("clwb (%0)" : : "r"(line) : "memory");
}

/*
 * Of pages that nobody has touched through this mapping. Of the first nobody ever does; the other's
 * flushes are seen when it is stored to, and one of them is complete by then.
 */
static void absent_flushes(struct capture *c, int file)
{
    uint8_t *const base = c->base;
    uint8_t *const mapping = map(file, 0);
    uint8_t *const page = mapping + 3 * 4096;
    __asm__ volatile("clwb (%0)" : : "r"(mapping) : "memory");
    __asm__ volatile("clwb 128(%0)\n sfence" : : "r"(page) : "memory");
    capture_add(c, __LINE__, "fence", "sfence");
    __asm__ volatile("clwb 64(%0)" : : "r"(page) : "memory");
    *(volatile uint64_t *)(page + 8) = capture_value(c);
    capture_add(c, __LINE__, "flush", "clflush")->offset = 3 * 4096 + 128;
    capture_add(c, __LINE__, "flush", "clwb")->offset = 3 * 4096 + 64;
    c->base = mapping;
    capture_stored(c, __LINE__, "store", "plain", page + 8, 8, 0);
    c->base = base;
}

/* One address that is other memory each time: pages of the file, and once no PM at all. */
static void remapped(struct capture *c, int file)
{
    uint8_t *const base = c->base;
    uint8_t *const window = map(file, 0);
    static const int pages[] = {2, 5, -1, 3, -1, 2};
    for (unsigned i = 0; i < sizeof pages / sizeof *pages; i++) {
        const int page = pages[i];
        const int flags = page < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
        if (mmap(window, 4096, PROT_READ | PROT_WRITE, flags | MAP_FIXED, page < 0 ? -1 : file,
                 page < 0 ? 0 : page * 4096) != window)
            exit(1);
        *(volatile uint64_t *)(window + 8) = capture_value(c);
        __asm__ volatile("clwb 8(%0)" : : "r"(window) : "memory");
        if (page < 0)
            continue;
        c->base = window - page * 4096;
        capture_stored(c, __LINE__, "store", "plain", window + 8, 8, 0);
        capture_add(c, __LINE__, "flush", "clwb")->offset = (uint32_t)page * 4096 + 8;
    }
    c->base = base;
}

static void print(const struct capture *c)
{
    for (uint32_t i = 0; i < c->count; i++) {
        const struct capture_record *r = &c->records[i];
        printf("%u %s %s %u %u %u ", r->line, r->kind, r->subkind, r->offset, r->size, r->atomic);
        for (unsigned at = 0; at < r->size; at++)
            printf("%02x", r->value[at]);
        printf("\n");
    }
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: %s FILE OPERATION\n", argv[0]);
        return 2;
    }
    const uint64_t operation = strtoull(argv[2], NULL, 0);
    const int file = open(argv[1], O_RDWR | O_CREAT, 0644);
    if (file < 0 || posix_fallocate(file, 0, CAPTURE_AREA) != 0) {
        perror(argv[1]);
        return 1;
    }
    static struct capture c = {
        .seed = 88172645463325252ull, .records = records, .capacity = RECORDS};
    uint8_t *const first = map(file, 0);
    uint8_t *const second = map(file, MAP_32BIT);
    for (uint32_t at = 0; at < CAPTURE_AREA;
         at += 4096) /* all pages there, none written by `second` */
        (void)*(volatile uint8_t *)(second + at);
    fencepost_op_begin(operation, "capture");
    c.base = first;
    name_pages(&c);
    all_operations(&c);
    c.base = second;
    all_operations(&c);
    through_32_bit_addresses(&c);
    outer(&c);
    volatile_flushes();
    remapped(&c, file);
    absent_flushes(&c, file);
    fencepost_op_end(operation, c.count);
    print(&c);
    return 0;
}
