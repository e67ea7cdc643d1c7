/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An append-only log in raw PM. An entry counts once the header, one word of (entries, bytes),
 * covers it; the header is written after the entry is durable.
 */
#include "target.h"

#define SIZE (64 << 10)

struct entry {
    uint64_t length; /* of the payload, in words */
    uint64_t number;
    uint64_t payload[];
};

struct log {
    uint64_t end; /* number of entries << 32 | bytes after the header */
    uint64_t unused[7];
    unsigned char bytes[SIZE - LINE];
};

static const char *const bugs[] = {
    "entry_unflushed",   "entry_unfenced", "end_first",   "end_torn",       "last_line_unflushed",
    "streamed_unfenced", "flush_twice",    "fence_twice", "flush_streamed", NULL};

static uint64_t words_of(uint64_t number)
{
    return 3 + number * 7 % 19;
}

static void write_entry(struct entry *entry, uint64_t number)
{
    uint64_t i;

    put(&entry->length, words_of(number));
    put(&entry->number, number);
    for (i = 0; i < words_of(number); i++)
        put(&entry->payload[i], mixed(number * 100 + i));
}

static void stream_entry(struct entry *entry, uint64_t number)
{
    uint64_t i;

    _mm_stream_si64((long long *)&entry->length, (long long)words_of(number));
    _mm_stream_si64((long long *)&entry->number, (long long)number);
    for (i = 0; i < words_of(number); i++)
        _mm_stream_si64((long long *)&entry->payload[i], (long long)mixed(number * 100 + i));
}

static void set_end(struct log *log, uint64_t entries, uint64_t bytes)
{
    if (has_bug("end_torn")) {
        volatile uint32_t *halves = (volatile uint32_t *)&log->end;

        halves[0] = (uint32_t)bytes;
        halves[1] = (uint32_t)entries;
    } else {
        put(&log->end, entries << 32 | bytes);
    }
    persist(&log->end, sizeof(log->end));
}

static void append(struct log *log, uint64_t number)
{
    const uint64_t start = log->end & 0xffffffff;
    const uint64_t bytes = sizeof(struct entry) + words_of(number) * 8;
    struct entry *entry = (struct entry *)(log->bytes + start);
    const int streams = has_bug("streamed_unfenced") || has_bug("flush_streamed");

    if (start + bytes > sizeof(log->bytes))
        return;
    if (has_bug("end_first"))
        set_end(log, number + 1, start + bytes);
    if (streams)
        stream_entry(entry, number);
    else
        write_entry(entry, number);
    if (has_bug("last_line_unflushed"))
        flush(entry, bytes > LINE ? bytes - LINE : bytes);
    else if (!has_bug("entry_unflushed") && !has_bug("streamed_unfenced"))
        flush(entry, bytes);
    if (has_bug("flush_twice"))
        flush(entry, bytes);
    if (!has_bug("entry_unfenced") && !has_bug("streamed_unfenced"))
        fence();
    if (has_bug("fence_twice"))
        fence();
    if (!has_bug("end_first"))
        set_end(log, number + 1, start + bytes);
}

static int check(const struct log *log)
{
    const uint64_t entries = log->end >> 32;
    const uint64_t end = log->end & 0xffffffff;
    uint64_t at = 0;
    uint64_t number;
    uint64_t i;

    if (end > sizeof(log->bytes))
        return inconsistent("the end is at %llu", (unsigned long long)end);
    for (number = 0; number < entries; number++) {
        const struct entry *entry = (const struct entry *)(log->bytes + at);

        if (at + sizeof(*entry) > end || entry->number != number ||
            entry->length != words_of(number))
            return inconsistent("entry %llu is not there", (unsigned long long)number);
        for (i = 0; i < entry->length; i++)
            if (entry->payload[i] != mixed(number * 100 + i))
                return inconsistent("entry %llu is damaged", (unsigned long long)number);
        at += sizeof(*entry) + entry->length * 8;
    }
    return at == end ? 0
                     : inconsistent("the log ends at %llu, its entries at %llu",
                                    (unsigned long long)end, (unsigned long long)at);
}

int main(int argc, char **argv)
{
    struct log *log;
    unsigned i;

    parse_arguments(argc, argv, bugs);
    log = map_file(sizeof(*log));
    if (!strcmp(arguments.verb, "check"))
        return check(log);
    if (!strcmp(arguments.verb, "run"))
        for (i = 0; i < arguments.count; i++)
            append(log, log->end >> 32);
    return 0;
}
