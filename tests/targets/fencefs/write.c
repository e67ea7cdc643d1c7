/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * data=cow, the default: a write goes to new blocks, which take the place of the old ones in one
 * transaction, so that a file never shows half of it.
 */
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/slab.h>
#include <linux/uio.h>

#include "fencefs.h"

/*
 * Under the mapping's lock, before a transaction takes blocks away from the file: what was stored
 * into them through maps becomes durable, as an msync that comes now has nothing left to flush.
 * Pages are read-only after it, and no fault gets past the lock.
 */
int fencefs_write_back(struct inode *inode, u64 first, u64 last)
{
    unsigned long index = first;

    if (!xa_find(&inode->i_mapping->i_pages, &index, last, PAGECACHE_TAG_DIRTY))
        return 0;
    return filemap_write_and_wait_range(inode->i_mapping, first * FENCEFS_BLOCK,
                                        (last + 1) * FENCEFS_BLOCK - 1);
}

/* What is beyond the end of the file in its last block. */
void fencefs_clear_rest(struct inode *inode)
{
    struct fencefs *fs = fencefs_of(inode->i_sb);
    const u64 used = inode->i_size % FENCEFS_BLOCK;
    const u64 block = fencefs_block_at(inode, inode->i_size / FENCEFS_BLOCK);

    if (used && block) {
        fencefs_stream_zeros(block_address(fs, block) + used, FENCEFS_BLOCK - used);
        fencefs_fence();
    }
}

struct write_plan {
    loff_t start;
    size_t length;
    u64 first; /* block of the file */
    u32 count;
    u64 *blocks;
    char *bytes; /* of all of them */
};

/* Bytes [from, to) of the file's block `index` as they are, zeros where it has none. */
static void keep_bytes(struct inode *inode, u64 index, char *buffer, u64 from, u64 to)
{
    struct fencefs *fs = fencefs_of(inode->i_sb);
    const u64 old = fencefs_block_at(inode, index);
    const loff_t start = index * FENCEFS_BLOCK;
    u64 filled = 0;

    if (old && inode->i_size > start)
        filled = min_t(u64, FENCEFS_BLOCK, inode->i_size - start);
    filled = clamp(filled, from, to);
    if (filled > from)
        memcpy(buffer + from, block_address(fs, old) + from, filled - from);
    memset(buffer + filled, 0, to - filled);
}

static void fill_block(struct fencefs *fs, u64 block, const char *buffer, size_t bytes)
{
    if (has_bug(fs, BUG_data_late))
        memcpy(block_address(fs, block), buffer, bytes);
    else
        fencefs_stream(block_address(fs, block), buffer, bytes);
    if (has_bug(fs, BUG_flush_streamed))
        fencefs_flush(block_address(fs, block), bytes);
}

/* What the write leaves of its first and last block is taken when nobody can store into them. */
static void fill_blocks(struct inode *inode, const struct write_plan *plan)
{
    struct fencefs *fs = fencefs_of(inode->i_sb);
    const u32 last = plan->count - 1;
    const u64 rest = (plan->start + plan->length - 1) % FENCEFS_BLOCK + 1;
    u32 i;

    keep_bytes(inode, plan->first, plan->bytes, 0, plan->start % FENCEFS_BLOCK);
    keep_bytes(inode, plan->first + last, plan->bytes + last * FENCEFS_BLOCK, rest, FENCEFS_BLOCK);
    for (i = 0; i < plan->count; i++)
        fill_block(fs, plan->blocks[i], plan->bytes + i * FENCEFS_BLOCK,
                   i == last && has_bug(fs, BUG_stale_rest) ? rest : FENCEFS_BLOCK);
    /* Before the journal's lock: who waits for it may go on on another CPU. */
    fencefs_fence();
}

/* Bytes after the new ones in the last block, once the block is the file's. */
static void keep_rest_late(struct inode *inode, const struct write_plan *plan, const u64 old,
                           loff_t old_size)
{
    struct fencefs *fs = fencefs_of(inode->i_sb);
    const loff_t end = plan->start + plan->length;
    const u64 offset = end % FENCEFS_BLOCK;
    void *target = block_address(fs, plan->blocks[plan->count - 1]);

    if (!offset)
        return;
    if (old && old_size > end)
        fencefs_stream(target + offset, block_address(fs, old) + offset, FENCEFS_BLOCK - offset);
    else
        fencefs_stream_zeros(target + offset, FENCEFS_BLOCK - offset);
    fencefs_fence();
}

static int log_write(struct inode *inode, const struct write_plan *plan, loff_t size,
                     struct timespec64 now)
{
    struct fencefs *fs = fencefs_of(inode->i_sb);
    u32 i;

    for (i = 0; i < plan->count; i++) {
        pm_word *slot = fencefs_make_slot(inode, plan->first + i);

        if (IS_ERR(slot))
            return PTR_ERR(slot);
        if (READ_ONCE(*slot))
            fencefs_doom(fs, READ_ONCE(*slot), 0);
        fencefs_log(fs, slot, plan->blocks[i]);
    }
    if (size != inode->i_size)
        fencefs_log(fs, &pm_inode(inode)->size, size);
    fencefs_log_times(inode, now);
    return 0;
}

static int make_visible(struct inode *inode, const struct write_plan *plan)
{
    struct fencefs *fs = fencefs_of(inode->i_sb);
    const struct timespec64 now = current_time(inode);
    const loff_t old_size = inode->i_size;
    const loff_t size = max_t(loff_t, old_size, plan->start + plan->length);
    const u64 last_old = fencefs_block_at(inode, plan->first + plan->count - 1);
    int error;
    u32 i;

    if (plan->start > old_size)
        fencefs_clear_rest(inode);
    error = fencefs_begin(fs);
    if (error) {
        for (i = 0; i < plan->count; i++)
            fencefs_release_block(fs, plan->blocks[i]);
        return error;
    }
    for (i = 0; i < plan->count; i++)
        fencefs_adopt(fs, plan->blocks[i]);
    if (has_bug(fs, BUG_size_early) && size != old_size) {
        WRITE_ONCE(pm_inode(inode)->size, size);
        fencefs_flush(&pm_inode(inode)->size, sizeof(pm_word));
    }
    error = log_write(inode, plan, size, now);
    if (error) {
        fencefs_abort(fs);
        return error;
    }
    error = fencefs_commit(fs);
    if (error)
        return error;
    if (has_bug(fs, BUG_stale_rest))
        keep_rest_late(inode, plan, last_old, old_size);
    if (has_bug(fs, BUG_data_late)) {
        for (i = 0; i < plan->count; i++)
            fencefs_flush(block_address(fs, plan->blocks[i]), FENCEFS_BLOCK);
        fencefs_fence();
    }
    i_size_write(inode, size);
    inode->i_mtime = inode->i_ctime = now;
    return 0;
}

/* Over what is there already, without new blocks. */
ssize_t fencefs_write_over(struct inode *inode, loff_t start, struct iov_iter *from)
{
    struct fencefs *fs = fencefs_of(inode->i_sb);
    const u64 block = fencefs_block_at(inode, start / FENCEFS_BLOCK);
    const u64 offset = start % FENCEFS_BLOCK;
    const size_t length = min_t(u64, iov_iter_count(from), FENCEFS_BLOCK - offset);
    ssize_t result = length;
    char *buffer;

    if (!block || start + length > inode->i_size)
        return 0;
    buffer = kmalloc(length, GFP_KERNEL);
    if (!buffer)
        return -ENOMEM;
    if (copy_from_iter(buffer, length, from) == length) {
        fencefs_stream(block_address(fs, block) + offset, buffer, length);
        fencefs_fence();
    } else {
        result = -EFAULT;
    }
    kfree(buffer);
    return result;
}

/* The new blocks, in the place of the old ones. */
static int replace_blocks(struct inode *inode, const struct write_plan *plan)
{
    struct fencefs *fs = fencefs_of(inode->i_sb);
    const u64 last = plan->first + plan->count - 1;
    int error;
    u32 i;

    filemap_invalidate_lock(inode->i_mapping);
    error = fencefs_write_back(inode, plan->first, last);
    if (error) {
        for (i = 0; i < plan->count; i++)
            fencefs_release_block(fs, plan->blocks[i]);
    } else {
        /* The old blocks are somebody else's after the commit: nothing may map them then. */
        truncate_pagecache_range(inode, plan->first * FENCEFS_BLOCK,
                                 (last + 1) * FENCEFS_BLOCK - 1);
        fill_blocks(inode, plan);
        error = make_visible(inode, plan);
    }
    filemap_invalidate_unlock(inode->i_mapping);
    return error;
}

ssize_t fencefs_write_new(struct inode *inode, loff_t start, struct iov_iter *from)
{
    struct write_plan plan = {.start = start};
    const u64 offset = start % FENCEFS_BLOCK;
    int error = -ENOMEM;

    plan.length = min_t(u64, iov_iter_count(from), FENCEFS_MAX_WRITE - offset);
    plan.first = start / FENCEFS_BLOCK;
    plan.count = (start + plan.length - 1) / FENCEFS_BLOCK - plan.first + 1;
    plan.blocks = kmalloc_array(plan.count, sizeof(*plan.blocks), GFP_KERNEL);
    plan.bytes = kvmalloc_array(plan.count, FENCEFS_BLOCK, GFP_KERNEL);
    if (!plan.blocks || !plan.bytes)
        goto out;
    /* The source may be a map of this file: no lock that a fault takes is held. */
    error = -EFAULT;
    if (copy_from_iter(plan.bytes + offset, plan.length, from) != plan.length)
        goto out;
    error = fencefs_take_blocks(fencefs_of(inode->i_sb), plan.count, plan.blocks);
    if (!error)
        error = replace_blocks(inode, &plan);
out:
    kfree(plan.blocks);
    kvfree(plan.bytes);
    return error ? error : plan.length;
}
