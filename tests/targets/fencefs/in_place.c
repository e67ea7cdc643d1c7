/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * data=inplace: a write goes over the blocks that the file has. A crash during it leaves each of
 * those bytes old or new. Bytes where the file has no block, or beyond its end, are durable before
 * one transaction makes them visible, with the size and the times.
 */
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/slab.h>
#include <linux/uio.h>

#include "fencefs.h"

struct in_place {
    loff_t start;
    size_t length;
    u64 first; /* block of the file */
    u32 count;
    u64 *fresh;  /* for each block: the new one, 0 where the file has one */
    char *bytes; /* of all of them; zeros around what is written */
};

static void release_fresh(struct fencefs *fs, const struct in_place *write)
{
    u32 i;

    for (i = 0; i < write->count; i++)
        if (write->fresh[i])
            fencefs_release_block(fs, write->fresh[i]);
}

static int take_missing(struct inode *inode, const struct in_place *write)
{
    u32 i;

    for (i = 0; i < write->count; i++) {
        int error;

        if (fencefs_block_at(inode, write->first + i))
            continue;
        error = fencefs_take_blocks(fencefs_of(inode->i_sb), 1, &write->fresh[i]);
        if (error) {
            release_fresh(fencefs_of(inode->i_sb), write);
            return error;
        }
    }
    return 0;
}

static void write_bytes(struct inode *inode, const struct in_place *write)
{
    struct fencefs *fs = fencefs_of(inode->i_sb);
    u32 i;

    for (i = 0; i < write->count; i++) {
        const loff_t at = (write->first + i) * FENCEFS_BLOCK;
        const u64 from = max_t(loff_t, write->start, at) - at;
        const u64 to = min_t(loff_t, write->start + write->length, at + FENCEFS_BLOCK) - at;
        const char *bytes = write->bytes + i * FENCEFS_BLOCK;

        if (write->fresh[i])
            fencefs_stream(block_address(fs, write->fresh[i]), bytes, FENCEFS_BLOCK);
        else
            fencefs_stream(block_address(fs, fencefs_block_at(inode, write->first + i)) + from,
                           bytes + from, to - from);
    }
    /* Before the journal's lock: who waits for it may go on on another CPU. */
    fencefs_fence();
}

static int log_fresh(struct inode *inode, const struct in_place *write)
{
    struct fencefs *fs = fencefs_of(inode->i_sb);
    u32 i;

    for (i = 0; i < write->count; i++) {
        pm_word *slot;

        if (!write->fresh[i])
            continue;
        slot = fencefs_make_slot(inode, write->first + i);
        if (IS_ERR(slot))
            return PTR_ERR(slot);
        fencefs_log(fs, slot, write->fresh[i]);
    }
    return 0;
}

static int make_visible(struct inode *inode, const struct in_place *write)
{
    struct fencefs *fs = fencefs_of(inode->i_sb);
    const struct timespec64 now = current_time(inode);
    const loff_t size = max_t(loff_t, inode->i_size, write->start + write->length);
    int error = fencefs_begin(fs);
    u32 i;

    if (error) {
        release_fresh(fs, write);
        return error;
    }
    for (i = 0; i < write->count; i++)
        if (write->fresh[i])
            fencefs_adopt(fs, write->fresh[i]);
    error = log_fresh(inode, write);
    if (error) {
        fencefs_abort(fs);
        return error;
    }
    if (size != inode->i_size)
        fencefs_log(fs, &pm_inode(inode)->size, size);
    fencefs_log_times(inode, now);
    error = fencefs_commit(fs);
    if (error)
        return error;
    i_size_write(inode, size);
    inode->i_mtime = inode->i_ctime = now;
    return 0;
}

static int write_blocks(struct inode *inode, const struct in_place *write)
{
    int error;
    u32 i;

    filemap_invalidate_lock(inode->i_mapping);
    error = take_missing(inode, write);
    if (!error) {
        if (write->start > inode->i_size)
            fencefs_clear_rest(inode);
        /* Maps show zeros where the file had no block. */
        for (i = 0; i < write->count; i++)
            if (write->fresh[i])
                truncate_pagecache_range(inode, (write->first + i) * FENCEFS_BLOCK,
                                         (write->first + i + 1) * FENCEFS_BLOCK - 1);
        write_bytes(inode, write);
        error = make_visible(inode, write);
    }
    filemap_invalidate_unlock(inode->i_mapping);
    return error;
}

ssize_t fencefs_write_in_place(struct inode *inode, loff_t start, struct iov_iter *from)
{
    struct in_place write = {.start = start};
    const u64 offset = start % FENCEFS_BLOCK;
    int error = -ENOMEM;

    write.length = min_t(u64, iov_iter_count(from), FENCEFS_MAX_WRITE - offset);
    write.first = start / FENCEFS_BLOCK;
    write.count = (start + write.length - 1) / FENCEFS_BLOCK - write.first + 1;
    write.fresh = kcalloc(write.count, sizeof(*write.fresh), GFP_KERNEL);
    write.bytes = kvcalloc(write.count, FENCEFS_BLOCK, GFP_KERNEL);
    if (!write.fresh || !write.bytes)
        goto out;
    /* The source may be a map of this file: no lock that a fault takes is held. */
    error = -EFAULT;
    if (copy_from_iter(write.bytes + offset, write.length, from) == write.length)
        error = write_blocks(inode, &write);
out:
    kfree(write.fresh);
    kvfree(write.bytes);
    return error ? error : write.length;
}
