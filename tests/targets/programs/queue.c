/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A queue with libpmem: a ring of items. Adding and taking change one word each; `rotate`, which
 * takes the oldest item and adds it again, and `swap`, which exchanges oldest and newest, change
 * more and save what they change in an undo log before.
 */
#include <libpmem.h>

#include "target.h"
#include "word_log.h"

#define RING 32

struct queue {
    uint64_t head; /* of the oldest item; both only grow */
    uint64_t unused[7];
    uint64_t tail; /* behind the newest */
    uint64_t more[7];
    uint64_t valid; /* the undo log counts */
    uint64_t even_more[7];
    struct logged_word log[4]; /* of words of the queue, counted from 1 */
    uint64_t ring[RING];
};

static const char *const bugs[] = {
    "tail_not_saved", "log_valid_first", "log_dropped_early", "item_late",   "wrong_item_saved",
    "log_undrained",  "saved_twice",     "item_unflushed",    "drain_twice", NULL};

static struct queue *queue;
static unsigned saved_count;

static void save(const uint64_t *word)
{
    log_word(&queue->log[saved_count++], (uint64_t)(word - (const uint64_t *)queue) + 1, *word);
}

/* Old values first; then their number, the word that makes them count. */
static void close_log(void)
{
    if (has_bug("log_valid_first"))
        log_close(&queue->valid, saved_count);
    pmem_flush(queue->log, saved_count * sizeof(struct logged_word));
    if (!has_bug("log_undrained"))
        pmem_drain();
    if (!has_bug("log_valid_first"))
        log_close(&queue->valid, saved_count);
}

static void add(uint64_t item)
{
    if (queue->tail - queue->head == RING)
        return;
    if (!has_bug("item_late"))
        put(&queue->ring[queue->tail % RING], item);
    if (!has_bug("item_late") && !has_bug("item_unflushed"))
        pmem_persist(&queue->ring[queue->tail % RING], sizeof(item));
    if (has_bug("drain_twice"))
        pmem_drain();
    put(&queue->tail, queue->tail + 1);
    pmem_persist(&queue->tail, sizeof(queue->tail));
    if (has_bug("item_late")) {
        put(&queue->ring[(queue->tail - 1) % RING], item);
        pmem_persist(&queue->ring[(queue->tail - 1) % RING], sizeof(item));
    }
}

static void take(void)
{
    put(&queue->head, queue->head + 1);
    pmem_persist(&queue->head, sizeof(queue->head));
}

static void rotate(void)
{
    uint64_t *slot = &queue->ring[queue->tail % RING];
    const uint64_t item = queue->ring[queue->head % RING];

    saved_count = 0;
    save(&queue->head);
    if (!has_bug("tail_not_saved"))
        save(&queue->tail);
    save(slot);
    if (has_bug("saved_twice"))
        save(&queue->head);
    close_log();
    put(slot, item | 1ull << 63);
    put(&queue->head, queue->head + 1);
    put(&queue->tail, queue->tail + 1);
    if (has_bug("log_dropped_early"))
        log_close(&queue->valid, 0);
    pmem_flush(slot, sizeof(*slot));
    pmem_flush(&queue->head, sizeof(queue->head));
    pmem_flush(&queue->tail, sizeof(queue->tail));
    pmem_drain();
    if (!has_bug("log_dropped_early"))
        log_close(&queue->valid, 0);
}

static void swap(void)
{
    uint64_t *oldest = &queue->ring[queue->head % RING];
    uint64_t *newest = &queue->ring[(queue->tail - 1) % RING];
    const uint64_t item = *oldest;

    saved_count = 0;
    save(oldest);
    save(has_bug("wrong_item_saved") ? &queue->ring[queue->tail % RING] : newest);
    close_log();
    put(oldest, *newest);
    pmem_persist(oldest, sizeof(*oldest));
    put(newest, item);
    pmem_persist(newest, sizeof(*newest));
    log_close(&queue->valid, 0);
}

static int recover(void)
{
    uint64_t i;

    if (queue->valid > 4)
        return inconsistent("a log of %llu words", (unsigned long long)queue->valid);
    for (i = 0; i < queue->valid; i++) {
        if (!queue->log[i].where || queue->log[i].where > sizeof(*queue) / 8)
            return inconsistent("the log has word %llu", (unsigned long long)queue->log[i].where);
        put((uint64_t *)queue + queue->log[i].where - 1, queue->log[i].value);
        pmem_persist((uint64_t *)queue + queue->log[i].where - 1, sizeof(uint64_t));
    }
    if (queue->valid)
        log_close(&queue->valid, 0);
    return 0;
}

/* Items are numbered as they are added, and a rotation keeps them all: what is in the queue is a
 * run of numbers. */
static int check(void)
{
    const uint64_t items = queue->tail - queue->head;
    uint64_t smallest = UINT64_MAX;
    uint64_t seen[RING] = {0};
    uint64_t at;

    if (items > RING)
        return inconsistent("%llu items", (unsigned long long)items);
    for (at = queue->head; at < queue->tail; at++) {
        const uint64_t number = queue->ring[at % RING] & ~(1ull << 63);

        if (number < smallest)
            smallest = number;
    }
    for (at = queue->head; at < queue->tail; at++) {
        const uint64_t number = (queue->ring[at % RING] & ~(1ull << 63)) - smallest;

        if (!smallest || number >= items || seen[number]++)
            return inconsistent("item %llu is lost or there twice",
                                (unsigned long long)(smallest + number));
    }
    return 0;
}

int main(int argc, char **argv)
{
    const size_t bytes = sizeof(struct queue);
    size_t mapped;
    unsigned i;
    int creates;
    int is_pm;

    parse_arguments(argc, argv, bugs);
    creates = !strcmp(arguments.verb, "create");
    queue = pmem_map_file(arguments.file, creates ? bytes : 0, creates ? PMEM_FILE_CREATE : 0, 0644,
                          &mapped, &is_pm);
    if (!queue || mapped < bytes) {
        perror(arguments.file);
        return strcmp(arguments.verb, "check") ? 2 : 1;
    }
    if (creates)
        pmem_memset_persist(queue, 0, bytes);
    if (!creates && recover())
        return 1;
    if (!strcmp(arguments.verb, "check"))
        return check();
    if (!strcmp(arguments.verb, "run"))
        for (i = 0; i < arguments.count; i++) {
            add(i + 1);
            /* Whole turns: the oldest item is the one with the smallest number again. */
            if (i % 6 == 5) {
                uint64_t left = queue->tail - queue->head;

                while (left--)
                    rotate();
            }
            if (i % 5 == 4) {
                swap();
                swap();
            }
            if (i % 4 == 3)
                take();
        }
    return 0;
}
