/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A hash table with open addressing in raw PM. A bucket counts once it is valid; its value is two
 * words, in two versions, and the valid word says which of them is current.
 */
#include "target.h"

#define BUCKETS 256
#define EMPTY 0
#define FIRST 1  /* the value is in versions[0] */
#define SECOND 2 /* …in versions[1] */

struct value {
    uint64_t word;
    uint64_t inverse;
};

/* The key is on a line of its own. */
struct bucket {
    uint64_t valid;
    struct value versions[2];
    uint64_t unused[3];
    uint64_t key;
    uint64_t more[7];
};

struct table {
    uint64_t count; /* no more than a hint */
    uint64_t unused[7];
    struct bucket buckets[BUCKETS];
};

static const char *const bugs[] = {"valid_first",    "key_unflushed", "bucket_unfenced",
                                   "value_in_place", "count_trusted", "removed_half",
                                   "flush_volatile", "flush_clean",   NULL};

static struct bucket *find(struct table *table, uint64_t key)
{
    uint64_t at = mixed(key) % BUCKETS;

    while (table->buckets[at].valid != EMPTY && table->buckets[at].key != key)
        at = (at + 1) % BUCKETS;
    return &table->buckets[at];
}

static void set_value(struct value *value, uint64_t word)
{
    put(&value->word, word);
    put(&value->inverse, ~word);
}

static void set_valid(struct bucket *bucket, uint64_t valid)
{
    put(&bucket->valid, valid);
    persist(&bucket->valid, sizeof(bucket->valid));
}

static void insert(struct table *table, uint64_t key, uint64_t word)
{
    struct bucket *bucket = find(table, key);

    if (has_bug("valid_first"))
        set_valid(bucket, FIRST);
    put(&bucket->key, key);
    set_value(&bucket->versions[0], word);
    if (!has_bug("key_unflushed"))
        flush(&bucket->key, sizeof(bucket->key));
    flush(&bucket->versions[0], sizeof(struct value));
    if (has_bug("flush_clean")) /* nobody has written there */
        flush(table, sizeof(table->count));
    if (!has_bug("bucket_unfenced"))
        fence();
    if (has_bug("count_trusted")) /* before, so that in the cache it is never behind */
        put(&table->count, table->count + 1);
    if (!has_bug("valid_first"))
        set_valid(bucket, FIRST);
}

static void update(struct table *table, uint64_t key, uint64_t word)
{
    struct bucket *bucket = find(table, key);
    const int other = bucket->valid == FIRST;
    struct value local;

    if (has_bug("value_in_place")) {
        set_value(&bucket->versions[!other], word);
        persist(&bucket->versions[!other], sizeof(struct value));
        return;
    }
    set_value(&local, word);
    if (has_bug("flush_volatile"))
        flush(&local, sizeof(local));
    put(&bucket->versions[other].word, local.word);
    put(&bucket->versions[other].inverse, local.inverse);
    persist(&bucket->versions[other], sizeof(struct value));
    set_valid(bucket, other ? SECOND : FIRST);
}

/* Buckets behind it may belong before it, so only one with nothing behind it goes. */
static void remove_last(struct table *table, uint64_t key)
{
    struct bucket *bucket = find(table, key);
    struct bucket *next = &table->buckets[(uint64_t)(bucket - table->buckets + 1) % BUCKETS];

    if (next->valid != EMPTY)
        return;
    if (has_bug("removed_half")) {
        put(&bucket->versions[0].word, 0);
        put(&bucket->versions[1].word, 0);
        persist(bucket->versions, sizeof(bucket->versions));
    }
    set_valid(bucket, EMPTY);
    if (has_bug("count_trusted"))
        put(&table->count, table->count - 1);
}

static int check(struct table *table)
{
    uint64_t valid = 0;
    uint64_t at;

    for (at = 0; at < BUCKETS; at++) {
        const struct bucket *bucket = &table->buckets[at];
        const struct value *value;

        if (bucket->valid == EMPTY)
            continue;
        if (bucket->valid > SECOND)
            return inconsistent("bucket %llu has state %llu", (unsigned long long)at,
                                (unsigned long long)bucket->valid);
        value = &bucket->versions[bucket->valid == SECOND];
        if (value->word != ~value->inverse)
            return inconsistent("the value in bucket %llu is torn", (unsigned long long)at);
        if (value->word % 1000 != bucket->key)
            return inconsistent("the value in bucket %llu is not of key %llu",
                                (unsigned long long)at, (unsigned long long)bucket->key);
        if (find(table, bucket->key) != bucket)
            return inconsistent("key %llu cannot be found", (unsigned long long)bucket->key);
        valid++;
    }
    if (has_bug("count_trusted") && table->count < valid)
        return inconsistent("there are %llu keys, not %llu", (unsigned long long)valid,
                            (unsigned long long)table->count);
    return 0;
}

int main(int argc, char **argv)
{
    struct table *table;
    unsigned i;

    parse_arguments(argc, argv, bugs);
    table = map_file(sizeof(*table));
    if (!strcmp(arguments.verb, "check"))
        return check(table);
    if (!strcmp(arguments.verb, "run"))
        for (i = 0; i < arguments.count; i++) {
            insert(table, i + 1, 1000 + i + 1);
            if (i % 3 == 1)
                update(table, i, 2000 + i);
            if (i % 4 == 3)
                remove_last(table, i - 1);
        }
    return 0;
}
