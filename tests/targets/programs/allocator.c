/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An allocator in raw PM: slots that own blocks, and a bitmap of blocks in use. Each allocation and
 * each free changes a slot and a bit together, by a redo log of two records that counts once it is
 * committed.
 */
#include "target.h"
#include "word_log.h"

#define BLOCKS 256
#define SLOTS 96
#define KEPT 48 /* allocated by `create` */

struct heap {
    uint64_t committed; /* number of records */
    uint64_t unused[7];
    struct logged_word records[8];
    uint64_t bitmap[BLOCKS / 64];
    uint64_t more[4];
    uint64_t slots[SLOTS]; /* block + 1, or 0 */
};

static const char *const bugs[] = {"bit_unlogged",      "log_unfenced",    "log_unflushed",
                                   "freed_early",       "toggles",         "wrong_index",
                                   "streamed_unfenced", "apply_unflushed", "logged_twice",
                                   "flush_streamed",    "fence_each",      NULL};

static struct logged_word pending[8];
static unsigned pending_count;

static void redo(struct heap *heap, volatile uint64_t *word, uint64_t value)
{
    pending[pending_count].where = (uint64_t)(word - (volatile uint64_t *)heap);
    pending[pending_count].value = value;
    pending_count++;
}

static void write_records(struct heap *heap)
{
    const int streams = has_bug("streamed_unfenced") || has_bug("flush_streamed");
    unsigned i;

    for (i = 0; i < pending_count; i++) {
        if (streams)
            log_word_streamed(&heap->records[i], pending[i].where, pending[i].value);
        else
            log_word(&heap->records[i], pending[i].where, pending[i].value);
    }
    if (!has_bug("log_unflushed") && !has_bug("streamed_unfenced"))
        flush(heap->records, pending_count * sizeof(struct logged_word));
    if (!has_bug("log_unfenced") && !has_bug("streamed_unfenced"))
        fence();
}

static void apply(struct heap *heap, const struct logged_word *records, uint64_t count)
{
    volatile uint64_t *words = (volatile uint64_t *)heap;
    uint64_t i;

    for (i = 0; i < count; i++) {
        if (has_bug("toggles") && words + records[i].where < (volatile uint64_t *)heap->slots)
            words[records[i].where] ^= records[i].value;
        else
            words[records[i].where] = records[i].value;
    }
    for (i = 0; i < count && !has_bug("apply_unflushed"); i++) {
        if (i && records[i].where / 8 == records[i - 1].where / 8)
            continue; /* on the same line */
        flush((const void *)(words + records[i].where), sizeof(uint64_t));
        if (has_bug("fence_each"))
            fence();
    }
    fence();
}

static void commit(struct heap *heap)
{
    write_records(heap);
    log_close(&heap->committed, pending_count);
    if (has_bug("freed_early"))
        log_close(&heap->committed, 0);
    apply(heap, pending, pending_count);
    if (!has_bug("freed_early"))
        log_close(&heap->committed, 0);
    pending_count = 0;
}

static void set_slot(struct heap *heap, unsigned slot, uint64_t block, int used)
{
    uint64_t *word = &heap->bitmap[block / 64];
    const uint64_t bit = 1ull << block % 64;
    const uint64_t changed = used ? *word | bit : *word & ~bit;

    if (has_bug("bit_unlogged")) {
        put(word, changed);
        persist(word, sizeof(*word));
    } else if (has_bug("wrong_index")) {
        redo(heap, &heap->bitmap[block / 64 + (block % 64 == 63)], changed);
    } else {
        redo(heap, word, has_bug("toggles") ? bit : changed);
    }
    if (has_bug("logged_twice"))
        redo(heap, word, changed);
    redo(heap, &heap->slots[slot], used ? block + 1 : 0);
    commit(heap);
}

static void allocate(struct heap *heap, unsigned slot)
{
    uint64_t block = 0;

    while (heap->bitmap[block / 64] >> block % 64 & 1)
        block++;
    set_slot(heap, slot, block, 1);
}

static void recover(struct heap *heap)
{
    if (heap->committed > 8 || !heap->committed)
        return;
    apply(heap, heap->records, heap->committed);
    log_close(&heap->committed, 0);
}

static int check(struct heap *heap)
{
    uint64_t seen[BLOCKS / 64] = {0};
    unsigned slot;
    unsigned i;

    if (heap->committed > 8)
        return inconsistent("a log of %llu records", (unsigned long long)heap->committed);
    for (i = 0; i < heap->committed; i++)
        if (heap->records[i].where >= sizeof(*heap) / 8)
            return inconsistent("record %u is for word %llu", i,
                                (unsigned long long)heap->records[i].where);
    recover(heap);
    for (slot = 0; slot < SLOTS; slot++) {
        const uint64_t block = heap->slots[slot] - 1;

        if (!heap->slots[slot])
            continue;
        if (block >= BLOCKS)
            return inconsistent("slot %u has block %llu", slot, (unsigned long long)block);
        if (seen[block / 64] >> block % 64 & 1)
            return inconsistent("block %llu has two owners", (unsigned long long)block);
        seen[block / 64] |= 1ull << block % 64;
    }
    for (i = 0; i < BLOCKS / 64; i++)
        if (seen[i] != heap->bitmap[i])
            return inconsistent("the bitmap has %llx, the slots %llx",
                                (unsigned long long)heap->bitmap[i], (unsigned long long)seen[i]);
    return 0;
}

int main(int argc, char **argv)
{
    struct heap *heap;
    unsigned i;

    parse_arguments(argc, argv, bugs);
    heap = map_file(sizeof(*heap));
    if (!strcmp(arguments.verb, "check"))
        return check(heap);
    if (!strcmp(arguments.verb, "create")) { /* so that few allocations come to the second word */
        for (i = 0; i < KEPT; i++)
            allocate(heap, i);
        return 0;
    }
    recover(heap);
    for (i = 0; i < arguments.count && KEPT + i < SLOTS; i++) {
        allocate(heap, KEPT + i);
        if (i % 5 == 4)
            set_slot(heap, i, heap->slots[i] - 1, 0);
    }
    return 0;
}
