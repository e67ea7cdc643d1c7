/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A B+tree with libpmem. Nodes in use are never changed: an insertion makes new nodes from the leaf
 * to the root, makes them durable, and then changes the root.
 */
#include <libpmem.h>

#include "target.h"

#define NODES 1024
#define KEYS 6

struct node {
    uint64_t leaf;
    uint64_t count;
    uint64_t keys[KEYS];       /* of an inner node: the smallest key below each child */
    uint64_t values[KEYS + 2]; /* of an inner node: children */
};

struct tree {
    uint64_t root; /* node + 1, or 0 */
    uint64_t unused[7];
    uint64_t next; /* first node that was never used; on a line of its own */
    uint64_t more[7];
    struct node nodes[NODES];
};

static const char *const bugs[] = {
    "root_first",      "leaf_unflushed", "undrained",   "next_late",   "sibling_unflushed",
    "insert_in_place", "persist_twice",  "persist_all", "inner_short", NULL};

static struct tree *tree;
static uint64_t fresh[16]; /* nodes of this insertion */
static unsigned fresh_count;

static uint64_t value_of(uint64_t key)
{
    return mixed(key);
}

static uint64_t new_node(const struct node *contents)
{
    const uint64_t number = tree->next;

    put(&tree->next, number + 1);
    tree->nodes[number] = *contents;
    fresh[fresh_count++] = number;
    return number;
}

struct split {
    uint64_t left;
    uint64_t right; /* 0: none; node numbers otherwise */
    uint64_t right_key;
};

/* `node` with one more key at `at`, as one node or two. */
static struct split with_key(const struct node *node, uint64_t at, uint64_t key, uint64_t value)
{
    struct node left = {.leaf = node->leaf};
    struct node right = {.leaf = node->leaf};
    uint64_t keys[KEYS + 1];
    uint64_t values[KEYS + 1];
    uint64_t count = node->count + 1;
    uint64_t half = count <= KEYS ? count : count / 2;
    struct split result = {0};
    uint64_t i;

    for (i = 0; i < count; i++) {
        keys[i] = i < at ? node->keys[i] : i == at ? key : node->keys[i - 1];
        values[i] = i < at ? node->values[i] : i == at ? value : node->values[i - 1];
    }
    for (i = 0; i < count; i++) {
        struct node *to = i < half ? &left : &right;

        to->keys[to->count] = keys[i];
        to->values[to->count++] = values[i];
    }
    result.left = new_node(&left);
    if (right.count) {
        result.right = new_node(&right);
        result.right_key = right.keys[0];
    }
    return result;
}

static uint64_t child_for(const struct node *node, uint64_t key)
{
    uint64_t at = 0;

    while (at + 1 < node->count && node->keys[at + 1] <= key)
        at++;
    return at;
}

static struct split insert_below(uint64_t number, uint64_t key)
{
    const struct node *node = &tree->nodes[number];
    struct split below;
    struct node copy;
    uint64_t at = 0;

    if (node->leaf) {
        while (at < node->count && node->keys[at] < key)
            at++;
        return with_key(node, at, key, value_of(key));
    }
    at = child_for(node, key);
    below = insert_below(node->values[at], key);
    copy = *node;
    copy.values[at] = below.left;
    copy.keys[at] = tree->nodes[below.left].keys[0];
    if (below.right)
        return with_key(&copy, at + 1, below.right_key, below.right);
    below.left = new_node(&copy);
    return below;
}

static void make_durable(uint64_t number, unsigned place)
{
    const struct node *node = &tree->nodes[number];
    size_t bytes = sizeof(*node);

    if (has_bug("leaf_unflushed") && node->leaf)
        return;
    if (has_bug("sibling_unflushed") && place == 1 && fresh_count > 2 && node->leaf)
        return; /* the right half of a leaf */
    if (has_bug("inner_short") && !node->leaf)
        bytes = LINE;
    pmem_flush(node, bytes);
}

static void set_root(uint64_t number)
{
    put(&tree->root, number + 1);
    pmem_persist(&tree->root, sizeof(tree->root));
}

/* Into a leaf with room, where it is. */
static int insert_in_place(uint64_t key)
{
    uint64_t number = tree->root - 1;
    struct node *node;
    uint64_t at;

    while (!tree->nodes[number].leaf)
        number = tree->nodes[number].values[child_for(&tree->nodes[number], key)];
    node = &tree->nodes[number];
    if (node->count == KEYS || node->keys[0] > key)
        return 0;
    for (at = node->count; at > 0 && node->keys[at - 1] > key; at--) {
        put(&node->keys[at], node->keys[at - 1]);
        put(&node->values[at], node->values[at - 1]);
    }
    put(&node->keys[at], key);
    put(&node->values[at], value_of(key));
    put(&node->count, node->count + 1);
    pmem_persist(node, sizeof(*node));
    return 1;
}

static void insert(uint64_t key)
{
    struct node first = {.leaf = 1, .count = 1, .keys = {key}, .values = {value_of(key)}};
    struct split top;
    unsigned i;

    fresh_count = 0;
    if (has_bug("insert_in_place") && tree->root && insert_in_place(key))
        return;
    if (!tree->root) {
        top = (struct split){.left = new_node(&first)};
    } else {
        top = insert_below(tree->root - 1, key);
    }
    if (top.right) {
        struct node root = {.count = 2,
                            .keys = {tree->nodes[top.left].keys[0], top.right_key},
                            .values = {top.left, top.right}};
        top.left = new_node(&root);
    }
    if (has_bug("root_first"))
        set_root(top.left);
    for (i = 0; i < fresh_count; i++)
        make_durable(fresh[i], i);
    if (!has_bug("next_late"))
        pmem_flush(&tree->next, sizeof(tree->next));
    if (!has_bug("undrained"))
        pmem_drain();
    if (has_bug("persist_twice"))
        pmem_persist(&tree->nodes[fresh[0]], sizeof(struct node));
    if (has_bug("persist_all"))
        pmem_persist(tree->nodes, tree->next * sizeof(struct node));
    if (!has_bug("root_first"))
        set_root(top.left);
    if (has_bug("next_late"))
        pmem_persist(&tree->next, sizeof(tree->next));
}

static int check_node(uint64_t number, uint64_t from, uint64_t to, unsigned depth)
{
    const struct node *node = &tree->nodes[number];
    uint64_t i;

    if (number >= tree->next || depth > 12)
        return inconsistent("node %llu is not in use", (unsigned long long)number);
    if (!node->count || node->count > KEYS || node->leaf > 1)
        return inconsistent("node %llu has %llu keys", (unsigned long long)number,
                            (unsigned long long)node->count);
    for (i = 0; i < node->count; i++) {
        if (node->keys[i] < from || node->keys[i] >= to ||
            (i && node->keys[i] <= node->keys[i - 1]))
            return inconsistent("key %llu of node %llu is out of order", (unsigned long long)i,
                                (unsigned long long)number);
        if (node->leaf ? node->values[i] != value_of(node->keys[i])
                       : node->values[i] >= NODES ||
                             check_node(node->values[i], node->keys[i],
                                        i + 1 < node->count ? node->keys[i + 1] : to, depth + 1))
            return inconsistent("value %llu of node %llu is wrong", (unsigned long long)i,
                                (unsigned long long)number);
    }
    return 0;
}

int main(int argc, char **argv)
{
    const size_t bytes = sizeof(struct tree);
    size_t mapped;
    unsigned i;
    int creates;
    int is_pm;

    parse_arguments(argc, argv, bugs);
    creates = !strcmp(arguments.verb, "create");
    tree = pmem_map_file(arguments.file, creates ? bytes : 0, creates ? PMEM_FILE_CREATE : 0, 0644,
                         &mapped, &is_pm);
    if (!tree || mapped < bytes) {
        perror(arguments.file);
        return strcmp(arguments.verb, "check") ? 2 : 1;
    }
    if (!strcmp(arguments.verb, "check"))
        return tree->next > NODES ? inconsistent("%llu nodes", (unsigned long long)tree->next)
                                  : tree->root && check_node(tree->root - 1, 0, UINT64_MAX, 0);
    if (creates)
        pmem_memset_persist(tree, 0, bytes);
    else
        for (i = 0; i < arguments.count && tree->next + 16 < NODES; i++)
            insert(1 + i * 37 % 101);
    return 0;
}
