/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Regular files: written (write.c), cut, grown, mapped. Bytes of the last block beyond the end of
 * the file may be anything; they become zeros before the file grows over them.
 */
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/pagemap.h>
#include <linux/uio.h>
#include <linux/writeback.h>

#include "fencefs.h"

static u64 blocks_of(loff_t size)
{
    return DIV_ROUND_UP_ULL(size, FENCEFS_BLOCK);
}

static ssize_t write_some(struct inode *inode, loff_t start, struct iov_iter *from)
{
    struct fencefs *fs = fencefs_of(inode->i_sb);
    ssize_t written = 0;

    if (fs->options.in_place)
        return fencefs_write_in_place(inode, start, from);
    if (has_bug(fs, BUG_write_in_place))
        written = fencefs_write_over(inode, start, from);
    return written ? written : fencefs_write_new(inode, start, from);
}

static void mark_writer(struct inode *inode, u64 mark)
{
    WRITE_ONCE(pm_inode(inode)->writer, mark);
    fencefs_flush(&pm_inode(inode)->writer, sizeof(pm_word));
    fencefs_fence();
}

/* In PM it is written down that somebody writes; a mount does not look at that, the next write
 * does. */
static ssize_t write_marked(struct inode *inode, loff_t start, struct iov_iter *from)
{
    ssize_t written;

    if (READ_ONCE(pm_inode(inode)->writer))
        return -EIO;
    mark_writer(inode, 1);
    written = write_some(inode, start, from);
    mark_writer(inode, 0);
    return written;
}

static ssize_t fencefs_write_iter(struct kiocb *iocb, struct iov_iter *from)
{
    struct inode *inode = file_inode(iocb->ki_filp);
    struct fencefs *fs = fencefs_of(inode->i_sb);
    ssize_t result;

    inode_lock(inode);
    result = generic_write_checks(iocb, from);
    if (result > 0)
        result = file_remove_privs(iocb->ki_filp) ?: result;
    if (result > 0)
        result = has_bug(fs, BUG_writer_mark_kept) ? write_marked(inode, iocb->ki_pos, from)
                                                   : write_some(inode, iocb->ki_pos, from);
    if (result > 0)
        iocb->ki_pos += result;
    if (result > 0 && fs->options.chatty)
        pr_alert("fencefs: inode %lu was written, %zd bytes\n", inode->i_ino, result);
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
        fencefs_clear_rest(inode);
    error = fencefs_write_back(inode, blocks_of(size), FENCEFS_MAX_BLOCKS - 1) ?: fencefs_begin(fs);
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
