/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A map with libpmemobj: buckets of lists, changed in transactions; a journal of the last keys
 * beside it, whose entries are published by one atomic word.
 */
#include <libpmemobj.h>

#include "target.h"

#define BUCKETS 8
#define RECENT 64

POBJ_LAYOUT_BEGIN(tx_map);
POBJ_LAYOUT_ROOT(tx_map, struct map);
POBJ_LAYOUT_TOID(tx_map, struct entry);
POBJ_LAYOUT_END(tx_map);

struct entry {
    uint64_t key;
    uint64_t value;
    TOID(struct entry) next;
};

struct map {
    uint64_t count;
    uint64_t unused[7]; /* so that they are on different lines */
    uint64_t sum;       /* of all keys */
    uint64_t unused_too[7];
    TOID(struct entry) buckets[BUCKETS];
    uint64_t recent_count;
    uint64_t more[7];
    uint64_t recent[RECENT];
};

static const char *const bugs[] = {
    "count_unlogged",    "outside",     "two_transactions", "wrong_field_logged",
    "entry_unpersisted", "recent_late", "recent_unflushed", "value_unlogged",
    "persist_again",     NULL};

static PMEMobjpool *pool;
static TOID(struct map) root;

static uint64_t value_of(uint64_t key, uint64_t version)
{
    return mixed(key * 1000 + version) / 1000 * 1000 + version;
}

/* Without a transaction: the object first, then the pointer to it. */
static void insert_atomically(uint64_t key)
{
    TOID(struct entry) *head = &D_RW(root)->buckets[key % BUCKETS];
    TOID(struct entry) entry;

    POBJ_ALLOC(pool, &entry, struct entry, sizeof(struct entry), NULL, NULL);
    D_RW(entry)->key = key;
    D_RW(entry)->value = value_of(key, 0);
    D_RW(entry)->next = *head;
    TX_BEGIN(pool)
    {
        TX_ADD_FIELD(root, count);
        TX_ADD_FIELD(root, sum);
        TX_ADD_FIELD(root, buckets[key % BUCKETS]);
        D_RW(root)->count++;
        D_RW(root)->sum += key;
        *head = entry;
    }
    TX_END
}

static void insert(uint64_t key)
{
    TOID(struct entry) *head = &D_RW(root)->buckets[key % BUCKETS];

    if (has_bug("entry_unpersisted")) {
        insert_atomically(key);
        return;
    }
    if (has_bug("outside"))
        D_RW(root)->count++;
    TX_BEGIN(pool)
    {
        TOID(struct entry) entry = TX_NEW(struct entry);

        D_RW(entry)->key = key;
        D_RW(entry)->value = value_of(key, 0);
        D_RW(entry)->next = *head;
        TX_ADD_FIELD(root, sum);
        if (has_bug("wrong_field_logged")) {
            TX_ADD_FIELD(root, buckets[(key + 1) % BUCKETS]);
        } else {
            TX_ADD_FIELD(root, buckets[key % BUCKETS]);
        }
        if (!has_bug("count_unlogged") && !has_bug("outside") && !has_bug("two_transactions"))
            TX_ADD_FIELD(root, count);
        *head = entry;
        D_RW(root)->sum += key;
        if (!has_bug("outside") && !has_bug("two_transactions"))
            D_RW(root)->count++;
        if (has_bug("persist_again"))
            pmemobj_persist(pool, &D_RW(root)->sum, sizeof(uint64_t));
    }
    TX_END
    if (has_bug("two_transactions")) {
        TX_BEGIN(pool)
        {
            TX_ADD_FIELD(root, count);
            D_RW(root)->count++;
        }
        TX_END
    }
}

static TOID(struct entry) find(uint64_t key)
{
    TOID(struct entry) entry = D_RO(root)->buckets[key % BUCKETS];

    while (!TOID_IS_NULL(entry) && D_RO(entry)->key != key)
        entry = D_RO(entry)->next;
    return entry;
}

/* Two values at once: both or none. */
static void update_two(uint64_t first, uint64_t second, uint64_t version)
{
    TOID(struct entry) a = find(first);
    TOID(struct entry) b = find(second);

    TX_BEGIN(pool)
    {
        TX_ADD_FIELD(a, value);
        if (!has_bug("value_unlogged"))
            TX_ADD_FIELD(b, value);
        D_RW(a)->value = value_of(first, version);
        D_RW(b)->value = value_of(second, version);
    }
    TX_END
}

static void remember(uint64_t key)
{
    const uint64_t at = D_RO(root)->recent_count;

    if (at == RECENT)
        return;
    if (!has_bug("recent_late"))
        D_RW(root)->recent[at] = mixed(key);
    if (!has_bug("recent_late") && !has_bug("recent_unflushed"))
        pmemobj_persist(pool, &D_RW(root)->recent[at], sizeof(uint64_t));
    D_RW(root)->recent_count = at + 1;
    pmemobj_persist(pool, &D_RW(root)->recent_count, sizeof(uint64_t));
    if (has_bug("recent_late")) {
        D_RW(root)->recent[at] = mixed(key);
        pmemobj_persist(pool, &D_RW(root)->recent[at], sizeof(uint64_t));
    }
}

static int check(void)
{
    uint64_t versions[1000] = {0};
    uint64_t count = 0;
    uint64_t sum = 0;
    uint64_t i;

    for (i = 0; i < BUCKETS; i++) {
        TOID(struct entry) entry = D_RO(root)->buckets[i];

        for (; !TOID_IS_NULL(entry); entry = D_RO(entry)->next, count++) {
            const uint64_t key = D_RO(entry)->key;
            const uint64_t version = D_RO(entry)->value % 1000;

            if (key == 0 || key >= 1000 || key % BUCKETS != i ||
                D_RO(entry)->value != value_of(key, version))
                return inconsistent("bucket %llu has key %llu, damaged", (unsigned long long)i,
                                    (unsigned long long)key);
            versions[key] = version;
            sum += key;
        }
    }
    if (count != D_RO(root)->count || sum != D_RO(root)->sum)
        return inconsistent("%llu entries with a sum of %llu, not %llu and %llu",
                            (unsigned long long)count, (unsigned long long)sum,
                            (unsigned long long)D_RO(root)->count,
                            (unsigned long long)D_RO(root)->sum);
    for (i = 1; i + 1 < 1000; i += 2)
        if (versions[i] != versions[i + 1])
            return inconsistent("keys %llu and %llu are of different versions",
                                (unsigned long long)i, (unsigned long long)i + 1);
    if (D_RO(root)->recent_count > RECENT)
        return inconsistent("%llu recent keys", (unsigned long long)D_RO(root)->recent_count);
    for (i = 0; i < D_RO(root)->recent_count; i++)
        if (D_RO(root)->recent[i] != mixed(i + 1))
            return inconsistent("recent key %llu is not there", (unsigned long long)i);
    return 0;
}

int main(int argc, char **argv)
{
    unsigned i;

    parse_arguments(argc, argv, bugs);
    if (!strcmp(arguments.verb, "create"))
        pool = pmemobj_create(arguments.file, POBJ_LAYOUT_NAME(tx_map), 0, 0644);
    else
        pool = pmemobj_open(arguments.file, POBJ_LAYOUT_NAME(tx_map));
    if (!pool) {
        fprintf(stderr, "%s: %s\n", arguments.file, pmemobj_errormsg());
        return strcmp(arguments.verb, "check") ? 2 : 1;
    }
    root = POBJ_ROOT(pool, struct map);
    if (!strcmp(arguments.verb, "check"))
        return check();
    if (!strcmp(arguments.verb, "run"))
        for (i = 1; i <= arguments.count; i++) {
            insert(i);
            remember(i);
            if (i % 4 == 0)
                update_two(i - 1, i, i);
        }
    pmemobj_close(pool);
    return 0;
}
