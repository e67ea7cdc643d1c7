/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the capture programs have done to PM, in order: the list that a trace is held against.
 * Shared by the user program and the kernel module.
 */
#pragma once

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdint.h>
#endif

#define CAPTURE_AREA 32768 /* bytes of PM that are used, from a page boundary */

struct capture_record {
    const char *kind; /* as in the trace; `many`: any stores that leave the bytes as they are now */
    const char *subkind;
    uint32_t offset; /* in the area */
    uint16_t size;
    uint8_t atomic;
    uint16_t line; /* in operations.h, for messages */
    uint8_t value[1024];
};

struct capture {
    uint8_t *base; /* of the mapping that is used now */
    uint32_t next; /* first byte of the area that no operation has used */
    uint64_t seed;
    struct capture_record *records;
    uint32_t count;
    uint32_t capacity;
};

static inline uint64_t capture_value(struct capture *c)
{
    c->seed ^= c->seed << 13;
    c->seed ^= c->seed >> 7;
    c->seed ^= c->seed << 17;
    return c->seed;
}

static inline struct capture_record *capture_add(struct capture *c, int line, const char *kind,
                                                 const char *subkind)
{
    struct capture_record *record = &c->records[c->count < c->capacity - 1 ? c->count++ : c->count];
    record->kind = kind;
    record->subkind = subkind;
    record->offset = 0;
    record->size = 0;
    record->atomic = 0;
    record->line = (uint16_t)line;
    return record;
}

/* The bytes are read back: what is in memory after the instruction is what it did. */
static __attribute__((unused)) void capture_stored(struct capture *c, int line, const char *kind,
                                                   const char *subkind, const volatile uint8_t *p,
                                                   unsigned size, int atomic)
{
    struct capture_record *record;
    const unsigned in_page = 4096 - (unsigned)((uint64_t)p & 4095);
    /* Two pages are two places in physical memory. */
    if (size > in_page && kind[0] != 'm') {
        capture_stored(c, line, kind, subkind, p, in_page, atomic);
        capture_stored(c, line, kind, subkind, p + in_page, size - in_page, atomic);
        return;
    }
    record = capture_add(c, line, kind, subkind);
    record->offset = (uint32_t)(p - c->base);
    record->size = (uint16_t)size;
    record->atomic = (uint8_t)atomic;
    for (unsigned i = 0; i < size; i++)
        record->value[i] = p[i];
}

/* A place for `size` bytes, `misaligned` bytes after a line's beginning. */
static inline uint8_t *capture_place(struct capture *c, unsigned size, unsigned misaligned)
{
    uint8_t *p = c->base + c->next + misaligned;
    c->next += (misaligned + size + 63) / 64 * 64;
    if (c->next > CAPTURE_AREA - 4096)
        c->next = 4096;
    return p;
}
