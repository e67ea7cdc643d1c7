/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Drives the maps among libpmemobj's examples: map_driver create|run|check KIND FILE [OPERATIONS].
 * `check` opens the pool, which recovers it, and exits with 0 if the keys are those after some
 * number of the operations, all can be looked up, and one more can be inserted and removed.
 * `map_driver pool LAYOUT FILE` makes an empty pool.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ex_common.h"
#include "map.h"
#include "map_btree.h"
#include "map_ctree.h"
#include "map_hashmap_atomic.h"
#include "map_hashmap_rp.h"
#include "map_hashmap_tx.h"
#include "map_rbtree.h"
#include "map_rtree.h"
#include "map_skiplist.h"

#include "hashmap/hashmap.h"

POBJ_LAYOUT_BEGIN(map);
POBJ_LAYOUT_ROOT(map, struct root);
POBJ_LAYOUT_END(map);

struct root {
    TOID(struct map) map;
};

#define MOST 256

static struct {
    const char *name;
    const struct map_ops *ops;
} kinds[] = {
    {"ctree", MAP_CTREE},
    {"btree", MAP_BTREE},
    {"rtree", MAP_RTREE},
    {"rbtree", MAP_RBTREE},
    {"hashmap_atomic", MAP_HASHMAP_ATOMIC},
    {"hashmap_tx", MAP_HASHMAP_TX},
    {"hashmap_rp", MAP_HASHMAP_RP},
    {"skiplist", MAP_SKIPLIST},
};

static struct map_ctx *context;
static TOID(struct map) map;
static PMEMoid value; /* of all keys: to some maps none is the same as no key */

static uint64_t key_of(unsigned operation)
{
    return (operation + 1) * 2654435761u % 9973;
}

/* Every fifth operation removes the key that was inserted two before. */
static int removes(unsigned operation)
{
    return operation % 5 == 4;
}

static uint64_t operand(unsigned operation)
{
    return removes(operation) ? key_of(operation - 2) : key_of(operation);
}

struct keys {
    uint64_t keys[MOST + 1];
    unsigned count;
};

static int collect(uint64_t key, PMEMoid ignored, void *argument)
{
    struct keys *keys = argument;

    (void)ignored;
    if (keys->count <= MOST)
        keys->keys[keys->count++] = key;
    return 0;
}

static int has(const struct keys *keys, uint64_t key)
{
    unsigned i;

    for (i = 0; i < keys->count; i++)
        if (keys->keys[i] == key)
            return 1;
    return 0;
}

/* Are these the keys after `operations`? */
static int agrees(const struct keys *keys, unsigned operations)
{
    unsigned expected = 0;
    unsigned i;

    for (i = 0; i < operations; i++) {
        const int removed_later = i % 5 == 2 && i + 2 < operations;

        if (removes(i) || removed_later)
            continue;
        if (!has(keys, operand(i)))
            return 0;
        expected++;
    }
    return keys->count == expected;
}

static int check(void)
{
    struct keys keys = {.count = 0};
    unsigned operations = 0;
    unsigned i;

    if (map_check(context, map)) {
        printf("it is no map\n");
        return 1;
    }
    map_foreach(context, map, collect, &keys);
    while (operations <= MOST && !agrees(&keys, operations))
        operations++;
    if (operations > MOST) {
        printf("%u keys that no number of operations leaves\n", keys.count);
        return 1;
    }
    for (i = 0; i < keys.count; i++)
        if (!map_lookup(context, map, keys.keys[i])) {
            printf("key %llu cannot be looked up\n", (unsigned long long)keys.keys[i]);
            return 1;
        }
    if (map_insert(context, map, 100000, value) || !map_lookup(context, map, 100000)) {
        printf("no key can be inserted\n");
        return 1;
    }
    map_remove(context, map, 100000);
    if (map_lookup(context, map, 100000)) {
        printf("no key can be removed\n");
        return 1;
    }
    return 0;
}

static const struct map_ops *ops_named(const char *name)
{
    unsigned i;

    for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
        if (!strcmp(kinds[i].name, name))
            return kinds[i].ops;
    return NULL;
}

int main(int argc, char **argv)
{
    const struct map_ops *ops = argc > 2 ? ops_named(argv[2]) : NULL;
    struct hashmap_args seed = {.seed = 1};
    PMEMobjpool *pool;
    TOID(struct root) root;
    unsigned i;

    if (argc == 4 && !strcmp(argv[1], "pool")) {
        pool = pmemobj_create(argv[3], argv[2], 0, CREATE_MODE_RW);
        return pool ? (pmemobj_close(pool), 0) : 2;
    }
    if (argc < 4 || !ops) {
        fprintf(stderr, "usage: map_driver create|run|check KIND FILE [OPERATIONS]\n");
        return 2;
    }
    if (!strcmp(argv[1], "create"))
        pool = pmemobj_create(argv[3], POBJ_LAYOUT_NAME(map), 0, CREATE_MODE_RW);
    else
        pool = pmemobj_open(argv[3], POBJ_LAYOUT_NAME(map));
    if (!pool) {
        fprintf(stderr, "%s: %s\n", argv[3], pmemobj_errormsg());
        return strcmp(argv[1], "check") ? 2 : 1;
    }
    context = map_ctx_init(ops, pool);
    root = POBJ_ROOT(pool, struct root);
    value = root.oid;
    if (!strcmp(argv[1], "create") && map_create(context, &D_RW(root)->map, &seed))
        return 2;
    map = D_RO(root)->map;
    if (strcmp(argv[1], "create"))
        map_init(context, map);
    if (!strcmp(argv[1], "check"))
        return check();
    if (!strcmp(argv[1], "run"))
        for (i = 0; i < (argc > 4 ? (unsigned)atoi(argv[4]) : 30); i++)
            if (removes(i))
                map_remove(context, map, operand(i));
            else if (map_insert(context, map, operand(i), value))
                return 2;
    map_ctx_free(context);
    pmemobj_close(pool);
    return 0;
}
