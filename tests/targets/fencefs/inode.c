/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inodes: from PM, new, changed, gone. */
#include <linux/mm.h>
#include <linux/slab.h>

#include "fencefs.h"

static void set_operations(struct inode *inode)
{
    inode->i_mapping->a_ops = &fencefs_mapping_operations;
    if (S_ISDIR(inode->i_mode)) {
        inode->i_op = &fencefs_directory_inode_operations;
        inode->i_fop = &fencefs_directory_operations;
    } else if (S_ISLNK(inode->i_mode)) {
        inode->i_op = &fencefs_symlink_inode_operations;
    } else {
        inode->i_flags |= S_DAX;
        inode->i_op = &fencefs_file_inode_operations;
        inode->i_fop = &fencefs_file_operations;
    }
}

static int load_link(struct inode *inode)
{
    const u64 block = fencefs_block_at(inode, 0);

    if (!block || inode->i_size >= FENCEFS_BLOCK)
        return -EUCLEAN;
    inode->i_link =
        kmemdup_nul(block_address(fencefs_of(inode->i_sb), block), inode->i_size, GFP_KERNEL);
    return inode->i_link ? 0 : -ENOMEM;
}

struct inode *fencefs_iget(struct super_block *sb, u64 number)
{
    struct fencefs *fs = fencefs_of(sb);
    struct fencefs_inode *pi;
    struct inode *inode;
    int error = -EUCLEAN;

    if (number < FENCEFS_ROOT || number >= fs->inodes)
        return ERR_PTR(-EUCLEAN);
    inode = iget_locked(sb, number);
    if (!inode)
        return ERR_PTR(-ENOMEM);
    if (!(inode->i_state & I_NEW))
        return inode;
    pi = pm_inode(inode);
    inode->i_mode = pi->mode_links;
    set_nlink(inode, pi->mode_links >> 32);
    i_uid_write(inode, (u32)pi->owner);
    i_gid_write(inode, pi->owner >> 32);
    inode->i_size = pi->size;
    inode->i_mtime = inode->i_atime = ns_to_timespec64(pi->mtime);
    inode->i_ctime = ns_to_timespec64(pi->ctime);
    if (!inode->i_nlink ||
        !(S_ISDIR(inode->i_mode) || S_ISREG(inode->i_mode) || S_ISLNK(inode->i_mode)))
        goto bad;
    set_operations(inode);
    error = S_ISLNK(inode->i_mode) ? load_link(inode) : 0;
    if (error)
        goto bad;
    unlock_new_inode(inode);
    return inode;
bad:
    iget_failed(inode);
    return ERR_PTR(error);
}

/* In PM all but the mode is set, so that it is not in use yet. */
struct inode *fencefs_new_inode(struct inode *directory, umode_t mode)
{
    struct fencefs *fs = fencefs_of(directory->i_sb);
    const u64 number = fencefs_take_inode(fs);
    struct fencefs_inode *pi;
    struct inode *inode;

    if (!number)
        return ERR_PTR(-ENOSPC);
    inode = new_inode(directory->i_sb);
    if (!inode) {
        fencefs_release_inode(fs, number);
        return ERR_PTR(-ENOMEM);
    }
    inode->i_ino = number;
    inode_init_owner(&init_user_ns, inode, directory, mode);
    inode->i_atime = inode->i_mtime = inode->i_ctime = current_time(inode);
    set_nlink(inode, S_ISDIR(mode) ? 2 : 1);
    set_operations(inode);

    pi = pm_inode(inode);
    WRITE_ONCE(pi->owner, i_uid_read(inode) | (u64)i_gid_read(inode) << 32);
    WRITE_ONCE(pi->size, 0);
    WRITE_ONCE(pi->mtime, nanoseconds(inode->i_mtime));
    WRITE_ONCE(pi->ctime, nanoseconds(inode->i_ctime));
    WRITE_ONCE(pi->parent, directory->i_ino);
    if (has_bug(fs, BUG_writer_mark_kept))
        WRITE_ONCE(pi->writer, 0);
    if (!has_bug(fs, BUG_inode_unflushed))
        fencefs_flush(pi, 64);
    fencefs_stream_zeros(pi->block, sizeof(pi->block));
    insert_inode_locked(inode);
    return inode;
}

/* A new inode that no transaction made real. */
void fencefs_discard_inode(struct inode *inode)
{
    clear_nlink(inode);
    discard_new_inode(inode);
}

void fencefs_evict(struct inode *inode)
{
    struct fencefs *fs = fencefs_of(inode->i_sb);
    struct fencefs_inode *pi = pm_inode(inode);
    const bool gone = !inode->i_nlink && !is_bad_inode(inode);
    u64 slot;

    truncate_inode_pages_final(&inode->i_data);
    clear_inode(inode);
    if (!gone)
        return;
    if (READ_ONCE(pi->mode_links) && !fencefs_begin(fs)) {
        for (slot = 0; slot <= FENCEFS_DOUBLE; slot++)
            if (pi->block[slot])
                fencefs_doom(fs, pi->block[slot], level_of(slot));
        fencefs_log(fs, &pi->mode_links, 0);
        fencefs_commit(fs);
    }
    fencefs_release_inode(fs, inode->i_ino);
}

void fencefs_free_inode(struct inode *inode)
{
    if (S_ISLNK(inode->i_mode))
        kfree(inode->i_link);
    free_inode_nonrcu(inode);
}

int fencefs_update_time(struct inode *inode, struct timespec64 *time, int flags)
{
    struct fencefs *fs = fencefs_of(inode->i_sb);
    int error = fencefs_begin(fs);

    if (error)
        return error;
    if (flags & S_CTIME)
        inode->i_ctime = *time;
    if (flags & S_MTIME)
        inode->i_mtime = *time;
    fencefs_log(fs, &pm_inode(inode)->mtime, nanoseconds(inode->i_mtime));
    fencefs_log(fs, &pm_inode(inode)->ctime, nanoseconds(inode->i_ctime));
    return fencefs_commit(fs);
}

/* One word, so that no transaction is needed; the times before it, on its line. */
static noinline void set_mode_unfenced(struct inode *inode)
{
    struct fencefs_inode *pi = pm_inode(inode);

    WRITE_ONCE(pi->ctime, nanoseconds(inode->i_ctime));
    WRITE_ONCE(pi->mode_links, inode->i_mode | (u64)inode->i_nlink << 32);
    fencefs_flush(pi, sizeof(pm_word));
}

int fencefs_setattr(struct user_namespace *users, struct dentry *dentry, struct iattr *attr)
{
    struct inode *inode = d_inode(dentry);
    struct fencefs *fs = fencefs_of(inode->i_sb);
    struct fencefs_inode *pi = pm_inode(inode);
    int error = setattr_prepare(users, dentry, attr);

    if (error)
        return error;
    if (attr->ia_valid & ATTR_SIZE) {
        error = fencefs_resize(inode, attr->ia_size);
        if (error)
            return error;
    }
    if (!(attr->ia_valid & (ATTR_MODE | ATTR_UID | ATTR_GID | ATTR_MTIME_SET | ATTR_TIMES_SET)) &&
        attr->ia_valid & ATTR_SIZE)
        return 0;
    if (has_bug(fs, BUG_chmod_unfenced) && attr->ia_valid & ATTR_MODE &&
        !(attr->ia_mode & ~inode->i_mode)) {
        setattr_copy(users, inode, attr);
        set_mode_unfenced(inode);
        return 0;
    }
    error = fencefs_begin(fs);
    if (error)
        return error;
    setattr_copy(users, inode, attr);
    fencefs_log(fs, &pi->mode_links, inode->i_mode | (u64)inode->i_nlink << 32);
    fencefs_log(fs, &pi->owner, i_uid_read(inode) | (u64)i_gid_read(inode) << 32);
    fencefs_log(fs, &pi->mtime, nanoseconds(inode->i_mtime));
    fencefs_log(fs, &pi->ctime, nanoseconds(inode->i_ctime));
    return fencefs_commit(fs);
}

int fencefs_getattr(struct user_namespace *users, const struct path *path, struct kstat *stat,
                    u32 mask, unsigned int flags)
{
    struct inode *inode = d_inode(path->dentry);

    generic_fillattr(users, inode, stat);
    stat->blksize = FENCEFS_BLOCK;
    stat->blocks = fencefs_count_blocks(inode) * (FENCEFS_BLOCK / 512);
    return 0;
}
