/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Regular files. A write goes to new blocks, which take the place of the old ones in one
 * transaction; so does a file never show half of it. Bytes of the last block beyond the end of the
 * file may be anything; they become zeros before the file grows over them.
 */
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/pagemap.h>
#include <linux/slab.h>
#include <linux/uio.h>
#include <linux/writeback.h>

#include "fencefs.h"

/* One transaction's worth; a longer write is a short one. */
#define MAX_WRITE (256 * FENCEFS_BLOCK)

static u64 blocks_of(loff_t size)
{
    return DIV_ROUND_UP_ULL(size, FENCEFS_BLOCK);
}

/*
 * Under the mapping's lock, before a transaction takes blocks away from the file: what was stored
 * into them through maps becomes durable, as an msync that comes now has nothing left to flush.
 * Pages are read-only after it, and no fault gets past the lock.
 */
static int write_back(struct inode *inode, u64 first, u64 last)
{
    unsigned long index = first;

    if (!xa_find(&inode->i_mapping->i_pages, &index, last, PAGECACHE_TAG_DIRTY))
        return 0;
    return filemap_write_and_wait_range(inode->i_mapping, first * FENCEFS_BLOCK,
                                        (last + 1) * FENCEFS_BLOCK - 1);
}

/* What is beyond the end of the file in its last block. */
static void clear_rest(struct inode *inode)
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
        clear_rest(inode);
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
static ssize_t write_over(struct inode *inode, loff_t start, struct iov_iter *from)
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
    error = write_back(inode, plan->first, last);
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

static ssize_t write_part(struct inode *inode, loff_t start, struct iov_iter *from)
{
    struct write_plan plan = {.start = start};
    const u64 offset = start % FENCEFS_BLOCK;
    int error = -ENOMEM;

    plan.length = min_t(u64, iov_iter_count(from), MAX_WRITE - offset);
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

static ssize_t fencefs_write_iter(struct kiocb *iocb, struct iov_iter *from)
{
    struct inode *inode = file_inode(iocb->ki_filp);
    ssize_t result;

    inode_lock(inode);
    result = generic_write_checks(iocb, from);
    if (result > 0)
        result = file_remove_privs(iocb->ki_filp) ?: result;
    if (result > 0) {
        ssize_t written = 0;

        if (has_bug(fencefs_of(inode->i_sb), BUG_write_in_place))
            written = write_over(inode, iocb->ki_pos, from);
        if (!written)
            written = write_part(inode, iocb->ki_pos, from);
        if (written > 0)
            iocb->ki_pos += written;
        result = written;
    }
    inode_unlock(inode);
    return result;
}

int fencefs_resize(struct inode *inode, loff_t size)
{
    struct fencefs *fs = fencefs_of(inode->i_sb);
    const struct timespec64 now = current_time(inode);
    const loff_t old_size = inode->i_size;
    int error;

    if (!S_ISREG(inode->i_mode))
        return -EINVAL;
    filemap_invalidate_lock(inode->i_mapping);
    if (size > old_size)
        clear_rest(inode);
    error = write_back(inode, blocks_of(size), FENCEFS_MAX_BLOCKS - 1) ?: fencefs_begin(fs);
    if (error)
        goto out;
    if (size < old_size && has_bug(fs, BUG_truncate_in_two)) {
        fencefs_log_cut(inode, blocks_of(size));
        error = fencefs_commit(fs) ?: fencefs_begin(fs);
        if (error)
            goto out;
    }
    if (size != old_size)
        fencefs_log(fs, &pm_inode(inode)->size, size);
    fencefs_log_times(inode, now);
    if (size < old_size) {
        /* The blocks are somebody else's after the commit: nothing may map them then. */
        i_size_write(inode, size);
        truncate_pagecache(inode, size);
        fencefs_log_cut(inode, blocks_of(size));
    }
    error = fencefs_commit(fs);
    if (error) {
        i_size_write(inode, old_size);
        goto out;
    }
    i_size_write(inode, size);
    inode->i_mtime = inode->i_ctime = now;
out:
    filemap_invalidate_unlock(inode->i_mapping);
    return error;
}

/* A block of zeros for a store through a map into a hole. */
static int fill_hole(struct inode *inode, u64 index, u64 *block)
{
    struct fencefs *fs = fencefs_of(inode->i_sb);
    pm_word *slot;
    int error = fencefs_begin(fs);

    if (error)
        return error;
    slot = fencefs_make_slot(inode, index);
    error = PTR_ERR_OR_ZERO(slot);
    if (!error && READ_ONCE(*slot)) {
        *block = READ_ONCE(*slot); /* another fault was faster */
        fencefs_abort(fs);
        return 0;
    }
    if (!error)
        error = fencefs_take_blocks(fs, 1, block);
    if (error) {
        fencefs_abort(fs);
        return error;
    }
    fencefs_adopt(fs, *block);
    fencefs_stream_zeros(block_address(fs, *block), FENCEFS_BLOCK);
    fencefs_log(fs, slot, *block);
    return fencefs_commit(fs);
}

static int iomap_begin(struct inode *inode, loff_t at, loff_t length, unsigned int flags,
                       struct iomap *iomap, struct iomap *source)
{
    struct fencefs *fs = fencefs_of(inode->i_sb);
    const u64 index = at / FENCEFS_BLOCK;
    u64 block = fencefs_block_at(inode, index);

    iomap->bdev = inode->i_sb->s_bdev;
    iomap->dax_dev = fs->dax;
    iomap->offset = index * FENCEFS_BLOCK;
    iomap->length = FENCEFS_BLOCK;
    iomap->flags = 0;
    if (!block && flags & IOMAP_WRITE) {
        const int error = fill_hole(inode, index, &block);

        if (error)
            return error;
        iomap->flags = IOMAP_F_NEW;
    }
    iomap->type = block ? IOMAP_MAPPED : IOMAP_HOLE;
    iomap->addr = block ? block * FENCEFS_BLOCK + fs->dax_offset : IOMAP_NULL_ADDR;
    return 0;
}

static const struct iomap_ops map_operations = {.iomap_begin = iomap_begin};

static ssize_t fencefs_read_iter(struct kiocb *iocb, struct iov_iter *to)
{
    struct inode *inode = file_inode(iocb->ki_filp);
    ssize_t result;

    if (!iov_iter_count(to))
        return 0;
    inode_lock_shared(inode);
    result = dax_iomap_rw(iocb, to, &map_operations);
    inode_unlock_shared(inode);
    return result;
}

static vm_fault_t fencefs_huge_fault(struct vm_fault *vmf, enum page_entry_size size)
{
    struct inode *inode = file_inode(vmf->vma->vm_file);
    const bool write = vmf->flags & FAULT_FLAG_WRITE && vmf->vma->vm_flags & VM_SHARED;
    vm_fault_t result;
    pfn_t pfn;

    if (write)
        sb_start_pagefault(inode->i_sb);
    filemap_invalidate_lock_shared(inode->i_mapping);
    result = dax_iomap_fault(vmf, size, &pfn, NULL, &map_operations);
    filemap_invalidate_unlock_shared(inode->i_mapping);
    if (write)
        sb_end_pagefault(inode->i_sb);
    return result;
}

static vm_fault_t fencefs_fault(struct vm_fault *vmf)
{
    return fencefs_huge_fault(vmf, PE_SIZE_PTE);
}

static const struct vm_operations_struct vm_operations = {
    .fault = fencefs_fault,
    .huge_fault = fencefs_huge_fault,
    .page_mkwrite = fencefs_fault,
    .pfn_mkwrite = fencefs_fault,
};

static int fencefs_mmap(struct file *file, struct vm_area_struct *vma)
{
    file_accessed(file);
    vma->vm_ops = &vm_operations;
    vma->vm_flags |= VM_HUGEPAGE;
    return 0;
}

/* All but stores through maps is durable already. */
static int fencefs_fsync(struct file *file, loff_t start, loff_t end, int data_only)
{
    if (has_bug(fencefs_of(file_inode(file)->i_sb), BUG_msync_nothing)) {
        fencefs_fence();
        return 0;
    }
    return file_write_and_wait_range(file, start, end);
}

static int write_pages(struct address_space *mapping, struct writeback_control *wbc)
{
    const int error =
        dax_writeback_mapping_range(mapping, fencefs_of(mapping->host->i_sb)->dax, wbc);

    /* It only flushes, and only for those who wait. What another thread flushed and has not fenced
     * here yet was fenced by the lock that it took before the page counted as clean. */
    if (wbc->sync_mode == WB_SYNC_ALL)
        fencefs_fence();
    return error;
}

const struct address_space_operations fencefs_mapping_operations = {
    .writepages = write_pages,
    .direct_IO = noop_direct_IO,
    .dirty_folio = noop_dirty_folio,
};

const struct inode_operations fencefs_file_inode_operations = {
    .setattr = fencefs_setattr,
    .getattr = fencefs_getattr,
    .update_time = fencefs_update_time,
};

const struct file_operations fencefs_file_operations = {
    .llseek = generic_file_llseek,
    .read_iter = fencefs_read_iter,
    .write_iter = fencefs_write_iter,
    .mmap = fencefs_mmap,
    .mmap_supported_flags = MAP_SYNC,
    .open = generic_file_open,
    .fsync = fencefs_fsync,
    .splice_read = generic_file_splice_read,
    .splice_write = iter_file_splice_write,
};
