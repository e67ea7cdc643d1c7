/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which blocks and inodes are in use, and which blocks belong to an inode. */
#include <linux/bitmap.h>
#include <linux/mm.h>

#include "fencefs.h"

static void choose_blocks(struct fencefs *fs, u32 count, u64 *blocks)
{
    u64 at = fs->data_block;
    u32 i;

    for (i = 0; i < count; i++) {
        at = find_next_zero_bit(fs->block_map, fs->blocks, at);
        blocks[i] = at++;
    }
}

static void claim_blocks(struct fencefs *fs, u32 count, const u64 *blocks)
{
    u32 i;

    for (i = 0; i < count; i++)
        __set_bit(blocks[i], fs->block_map);
    fs->free_blocks -= count;
}

int fencefs_take_blocks(struct fencefs *fs, u32 count, u64 *blocks)
{
    int error = -ENOSPC;
    u32 i;

    spin_lock(&fs->map_lock);
    if (fs->free_blocks >= count) {
        choose_blocks(fs, count, blocks);
        if (has_bug(fs, BUG_alloc_race)) {
            /* Nobody shall see what was in them. */
            spin_unlock(&fs->map_lock);
            for (i = 0; i < count; i++) {
                fencefs_stream_zeros(block_address(fs, blocks[i]), FENCEFS_BLOCK);
                cpu_relax(); /* an emulator that has CPUs take turns goes on to the next */
            }
            spin_lock(&fs->map_lock);
        }
        claim_blocks(fs, count, blocks);
        error = 0;
    }
    spin_unlock(&fs->map_lock);
    return error;
}

void fencefs_release_block(struct fencefs *fs, u64 block)
{
    spin_lock(&fs->map_lock);
    __clear_bit(block, fs->block_map);
    fs->free_blocks++;
    spin_unlock(&fs->map_lock);
}

/* Blocks of blocks are read after they became free in PM, and before anyone can have them again. */
void fencefs_release_tree(struct fencefs *fs, u64 block, int level)
{
    const pm_word *below = block_address(fs, block);
    u64 i;

    if (!block_valid(fs, block))
        return;
    if (level)
        for (i = 0; i < FENCEFS_PER_BLOCK; i++)
            if (below[i])
                fencefs_release_tree(fs, below[i], level - 1);
    fencefs_release_block(fs, block);
}

u64 fencefs_take_inode(struct fencefs *fs)
{
    u64 number;

    spin_lock(&fs->map_lock);
    number = find_next_zero_bit(fs->inode_map, fs->inodes, FENCEFS_ROOT);
    if (number < fs->inodes) {
        __set_bit(number, fs->inode_map);
        fs->free_inodes--;
    } else {
        number = 0;
    }
    spin_unlock(&fs->map_lock);
    return number;
}

void fencefs_release_inode(struct fencefs *fs, u64 number)
{
    spin_lock(&fs->map_lock);
    __clear_bit(number, fs->inode_map);
    fs->free_inodes++;
    spin_unlock(&fs->map_lock);
}

static int scan_tree(struct fencefs *fs, u64 block, int level)
{
    const pm_word *below = block_address(fs, block);
    int error = 0;
    u64 i;

    if (!block_valid(fs, block) || __test_and_set_bit(block, fs->block_map))
        return -EUCLEAN;
    fs->free_blocks--;
    if (level && !has_bug(fs, BUG_remount_forgets))
        for (i = 0; i < FENCEFS_PER_BLOCK && !error; i++)
            if (below[i])
                error = scan_tree(fs, below[i], level - 1);
    return error;
}

static int scan_blocks(struct fencefs *fs, const struct fencefs_inode *pi)
{
    int error = 0;
    u64 slot;

    for (slot = 0; slot <= FENCEFS_DOUBLE && !error; slot++)
        if (pi->block[slot])
            error = scan_tree(fs, pi->block[slot], level_of(slot));
    return error;
}

/* At mount: all inodes in use and all blocks they have. Orphans become free. */
int fencefs_scan(struct fencefs *fs)
{
    u64 number;
    int error = 0;

    for (number = FENCEFS_ROOT; number < fs->inodes && !error; number++) {
        struct fencefs_inode *pi = fs->table + number;

        if (!pi->mode_links)
            continue;
        if (!(pi->mode_links >> 32) && !has_bug(fs, BUG_orphan_kept)) {
            error = fencefs_begin(fs);
            if (error)
                break;
            fencefs_log(fs, &pi->mode_links, 0);
            error = fencefs_commit(fs);
            if (has_bug(fs, BUG_orphan_blocks_leaked) && !error)
                error = scan_blocks(fs, pi);
            continue;
        }
        __set_bit(number, fs->inode_map);
        fs->free_inodes--;
        error = scan_blocks(fs, pi);
    }
    return error;
}

/* Where in its table (of an inode or a block) the way to block `index` goes on, at each level. */
static int path_to(u64 index, u64 path[3])
{
    if (index < FENCEFS_DIRECT) {
        path[0] = index;
        return 1;
    }
    index -= FENCEFS_DIRECT;
    if (index < FENCEFS_PER_BLOCK) {
        path[0] = FENCEFS_INDIRECT;
        path[1] = index;
        return 2;
    }
    index -= FENCEFS_PER_BLOCK;
    path[0] = FENCEFS_DOUBLE;
    path[1] = index / FENCEFS_PER_BLOCK;
    path[2] = index % FENCEFS_PER_BLOCK;
    return 3;
}

/* The word with the number of the file's block `index`, NULL if there is none. */
pm_word *fencefs_slot(struct inode *inode, u64 index)
{
    struct fencefs *fs = fencefs_of(inode->i_sb);
    pm_word *table = pm_inode(inode)->block;
    u64 path[3];
    int steps;
    int i;

    if (index >= FENCEFS_MAX_BLOCKS)
        return NULL;
    steps = path_to(index, path);
    for (i = 0; i < steps - 1; i++) {
        const u64 block = READ_ONCE(table[path[i]]);

        if (!block_valid(fs, block))
            return NULL;
        table = block_address(fs, block);
    }
    return &table[path[i]];
}

/* The same, in a transaction that makes the blocks of blocks on the way. */
pm_word *fencefs_make_slot(struct inode *inode, u64 index)
{
    struct fencefs *fs = fencefs_of(inode->i_sb);
    pm_word *table = pm_inode(inode)->block;
    u64 path[3];
    int steps;
    int i;

    if (index >= FENCEFS_MAX_BLOCKS)
        return ERR_PTR(-EFBIG);
    steps = path_to(index, path);
    for (i = 0; i < steps - 1; i++) {
        pm_word *word = &table[path[i]];
        u64 block = READ_ONCE(*word);
        int error;

        if (!block)
            block = fencefs_pending(fs, word);
        if (!block) {
            error = fencefs_take_blocks(fs, 1, &block);
            if (error)
                return ERR_PTR(error);
            fencefs_adopt(fs, block);
            fencefs_stream_zeros(block_address(fs, block), FENCEFS_BLOCK);
            fencefs_log(fs, word, block);
        }
        table = block_address(fs, block);
    }
    return &table[path[i]];
}

u64 fencefs_block_at(struct inode *inode, u64 index)
{
    pm_word *slot = fencefs_slot(inode, index);
    const u64 block = slot ? READ_ONCE(*slot) : 0;

    return block_valid(fencefs_of(inode->i_sb), block) ? block : 0;
}

/* `covers` blocks of the file, from block `start` of it on, are below each word of the table. */
static void cut_table(struct fencefs *fs, pm_word *table, u64 words, u64 start, u64 covers,
                      int level, u64 first)
{
    u64 i;

    for (i = 0; i < words; i++, start += covers) {
        if (!table[i] || start + covers <= first)
            continue;
        if (start >= first) {
            fencefs_doom(fs, table[i], level);
            fencefs_log(fs, &table[i], 0);
        } else if (block_valid(fs, table[i])) {
            cut_table(fs, block_address(fs, table[i]), FENCEFS_PER_BLOCK, start,
                      covers / FENCEFS_PER_BLOCK, level - 1, first);
        }
    }
}

/* In a transaction: the file has no blocks from `first` on. */
void fencefs_log_cut(struct inode *inode, u64 first)
{
    struct fencefs *fs = fencefs_of(inode->i_sb);
    struct fencefs_inode *pi = pm_inode(inode);

    cut_table(fs, pi->block, FENCEFS_DIRECT, 0, 1, 0, first);
    cut_table(fs, &pi->block[FENCEFS_INDIRECT], 1, FENCEFS_DIRECT, FENCEFS_PER_BLOCK, 1, first);
    cut_table(fs, &pi->block[FENCEFS_DOUBLE], 1, FENCEFS_DIRECT + FENCEFS_PER_BLOCK,
              FENCEFS_PER_BLOCK * FENCEFS_PER_BLOCK, 2, first);
}

static u64 count_tree(struct fencefs *fs, u64 block, int level)
{
    const pm_word *below = block_address(fs, block);
    u64 count = 1;
    u64 i;

    if (!block_valid(fs, block))
        return 0;
    if (level)
        for (i = 0; i < FENCEFS_PER_BLOCK; i++)
            if (below[i])
                count += count_tree(fs, below[i], level - 1);
    return count;
}

u64 fencefs_count_blocks(struct inode *inode)
{
    struct fencefs *fs = fencefs_of(inode->i_sb);
    u64 count = 0;
    u64 slot;

    for (slot = 0; slot <= FENCEFS_DOUBLE; slot++)
        if (pm_inode(inode)->block[slot])
            count += count_tree(fs, pm_inode(inode)->block[slot], level_of(slot));
    return count;
}
