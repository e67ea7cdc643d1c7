/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counters in raw PM that two threads increment with compare-and-swap. A thread announces each
 * increment by its number, increments, and marks the number as done; so at any time the counters'
 * sum is between what is done and what is announced. Now and then it writes down what a counter
 * was, once that is durable.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "target.h"

#define COUNTERS 8
#define THREADS 2

struct cell {
    _Atomic uint64_t value;
    uint64_t unused[7];
};

struct area {
    struct cell announced[THREADS];
    struct cell done[THREADS];
    struct cell counters[COUNTERS];
    struct cell seen[THREADS]; /* counter << 32 | value */
};

static const char *const bugs[] = {
    "id_not_persisted", "counter_unflushed", "done_first",        "seen_in_cache",
    "not_atomic",       "fence_each_line",   "flush_dirty_twice", NULL};

static struct area *area;

static void set(struct cell *cell, uint64_t value)
{
    atomic_store_explicit(&cell->value, value, memory_order_relaxed);
}

static uint64_t get(const struct cell *cell)
{
    return atomic_load_explicit(&cell->value, memory_order_relaxed);
}

/* What the counter is then. */
static uint64_t increment(struct cell *cell)
{
    uint64_t seen = get(cell);

    if (has_bug("not_atomic")) {
        usleep(100); /* as if something else had to be done meanwhile: the other thread comes by */
        set(cell, seen + 1);
        return seen + 1;
    }
    while (!atomic_compare_exchange_weak(&cell->value, &seen, seen + 1))
        ;
    return seen + 1;
}

static void write_down(unsigned thread, unsigned counter, uint64_t value)
{
    set(&area->seen[thread], (uint64_t)counter << 32 | value);
    persist(&area->seen[thread], sizeof(uint64_t));
}

static void *work(void *argument)
{
    const unsigned thread = (unsigned)(uintptr_t)argument;
    unsigned i;

    for (i = 0; i < arguments.count; i++) {
        const unsigned counter = i * 3 % COUNTERS;
        struct cell *cell = &area->counters[counter];
        const uint64_t number = get(&area->announced[thread]) + 1;
        uint64_t value;

        set(&area->announced[thread], number);
        if (!has_bug("id_not_persisted"))
            persist(&area->announced[thread], sizeof(uint64_t));
        if (has_bug("done_first")) {
            set(&area->done[thread], number);
            persist(&area->done[thread], sizeof(uint64_t));
        }
        value = increment(cell);
        if (has_bug("seen_in_cache") && i % 4 == 3)
            write_down(thread, counter, value);
        if (!has_bug("counter_unflushed"))
            persist(cell, sizeof(uint64_t));
        if (has_bug("flush_dirty_twice"))
            persist(cell, sizeof(uint64_t));
        if (has_bug("fence_each_line"))
            fence();
        if (!has_bug("seen_in_cache") && i % 4 == 3)
            write_down(thread, counter, value);
        if (!has_bug("done_first")) {
            set(&area->done[thread], number);
            persist(&area->done[thread], sizeof(uint64_t));
        }
    }
    return NULL;
}

static int check(void)
{
    uint64_t announced = 0;
    uint64_t done = 0;
    uint64_t sum = 0;
    unsigned i;

    for (i = 0; i < COUNTERS; i++)
        sum += get(&area->counters[i]);
    for (i = 0; i < THREADS; i++) {
        announced += get(&area->announced[i]);
        done += get(&area->done[i]);
        if (get(&area->seen[i]) >> 32 >= COUNTERS ||
            (uint32_t)get(&area->seen[i]) > get(&area->counters[get(&area->seen[i]) >> 32]))
            return inconsistent("a counter was %u, and is less now", (uint32_t)get(&area->seen[i]));
        if (get(&area->done[i]) > get(&area->announced[i]))
            return inconsistent("thread %u has done more than it announced", i);
    }
    if (sum < done || sum > announced)
        return inconsistent("the sum is %llu, with %llu done and %llu announced",
                            (unsigned long long)sum, (unsigned long long)done,
                            (unsigned long long)announced);
    return 0;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    uintptr_t i;

    parse_arguments(argc, argv, bugs);
    area = map_file(sizeof(*area));
    if (!strcmp(arguments.verb, "check"))
        return check();
    if (!strcmp(arguments.verb, "run")) {
        for (i = 0; i < THREADS; i++)
            if (pthread_create(&threads[i], NULL, work, (void *)i))
                return 2;
        for (i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
    }
    return 0;
}
