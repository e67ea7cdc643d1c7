/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Directories and what is made and removed in them. */
#include <linux/mm.h>
#include <linux/slab.h>

#include "fencefs.h"

/* Entry number `position` of a directory, NULL behind its end. */
static struct fencefs_entry *entry_at(struct inode *directory, u64 position)
{
    const u64 block = fencefs_block_at(directory, position / FENCEFS_ENTRIES);
    struct fencefs_entry *entries;

    if (position / FENCEFS_ENTRIES * FENCEFS_BLOCK >= directory->i_size || !block)
        return NULL;
    entries = block_address(fencefs_of(directory->i_sb), block);
    return &entries[position % FENCEFS_ENTRIES];
}

struct fencefs_entry *fencefs_find(struct inode *directory, const struct qstr *name)
{
    struct fencefs_entry *entry;
    u64 position;

    for (position = 0; (entry = entry_at(directory, position)); position++)
        if (entry->number && entry->length == name->len &&
            !memcmp(entry->name, name->name, name->len))
            return entry;
    return NULL;
}

bool fencefs_is_empty(struct inode *directory)
{
    struct fencefs_entry *entry;
    u64 position;

    for (position = 0; (entry = entry_at(directory, position)); position++)
        if (entry->number)
            return false;
    return true;
}

/* In a transaction: one more block of free entries. */
static struct fencefs_entry *grow(struct inode *directory)
{
    struct fencefs *fs = fencefs_of(directory->i_sb);
    const u64 index = directory->i_size / FENCEFS_BLOCK;
    pm_word *slot = fencefs_make_slot(directory, index);
    u64 block;
    int error;

    if (IS_ERR(slot))
        return ERR_CAST(slot);
    error = fencefs_take_blocks(fs, 1, &block);
    if (error)
        return ERR_PTR(error);
    fencefs_adopt(fs, block);
    fencefs_stream_zeros(block_address(fs, block), FENCEFS_BLOCK);
    fencefs_log(fs, slot, block);
    fencefs_log(fs, &pm_inode(directory)->size, (index + 1) * FENCEFS_BLOCK);
    return block_address(fs, block);
}

/* In a transaction. The caller sees to the times, and to the size by reading it from PM after the
 * commit. */
int fencefs_add_entry(struct inode *directory, const struct qstr *name, u64 number)
{
    struct fencefs *fs = fencefs_of(directory->i_sb);
    struct fencefs_entry *entry;
    u64 position;

    for (position = 0; (entry = entry_at(directory, position)); position++)
        if (!entry->number)
            break;
    if (!entry)
        entry = grow(directory);
    if (IS_ERR(entry))
        return PTR_ERR(entry);
    entry->length = name->len;
    memcpy(entry->name, name->name, name->len);
    if (!has_bug(fs, BUG_name_unflushed))
        fencefs_flush(entry, offsetof(struct fencefs_entry, name) + name->len);
    fencefs_log(fs, &entry->number, number);
    return 0;
}

static void directory_changed(struct inode *directory, struct timespec64 now)
{
    directory->i_mtime = directory->i_ctime = now;
    i_size_write(directory, pm_inode(directory)->size);
}

static struct dentry *fencefs_lookup(struct inode *directory, struct dentry *dentry,
                                     unsigned int flags)
{
    struct fencefs_entry *entry;
    struct inode *inode = NULL;

    if (dentry->d_name.len > FENCEFS_MAX_NAME)
        return ERR_PTR(-ENAMETOOLONG);
    entry = fencefs_find(directory, &dentry->d_name);
    if (entry)
        inode = fencefs_iget(directory->i_sb, entry->number);
    return d_splice_alias(inode, dentry);
}

/* The link's target in a block of its own. */
static int write_target(struct inode *inode, const char *target)
{
    struct fencefs *fs = fencefs_of(inode->i_sb);
    const size_t length = strlen(target);
    u64 block;
    int error = fencefs_take_blocks(fs, 1, &block);

    if (error)
        return error;
    fencefs_adopt(fs, block);
    if (has_bug(fs, BUG_symlink_late))
        memcpy(block_address(fs, block), target, length + 1);
    else
        fencefs_stream(block_address(fs, block), target, length + 1);
    fencefs_log(fs, &pm_inode(inode)->block[0], block);
    fencefs_log(fs, &pm_inode(inode)->size, length);
    inode->i_link = kstrdup(target, GFP_KERNEL);
    if (!inode->i_link)
        return -ENOMEM;
    i_size_write(inode, length);
    return 0;
}

/* Files, directories and symbolic links. */
static int make(struct inode *directory, struct dentry *dentry, umode_t mode, const char *target)
{
    struct fencefs *fs = fencefs_of(directory->i_sb);
    struct inode *inode;
    struct timespec64 now;
    int error = fencefs_begin(fs);

    if (error)
        return error;
    inode = fencefs_new_inode(directory, mode);
    if (IS_ERR(inode)) {
        fencefs_abort(fs);
        return PTR_ERR(inode);
    }
    now = inode->i_ctime;
    error = target ? write_target(inode, target) : 0;
    if (!error)
        error = fencefs_add_entry(directory, &dentry->d_name, inode->i_ino);
    if (error) {
        fencefs_abort(fs);
        fencefs_discard_inode(inode);
        return error;
    }
    fencefs_log(fs, &pm_inode(inode)->mode_links, inode->i_mode | (u64)inode->i_nlink << 32);
    fencefs_log_times(directory, now);
    if (S_ISDIR(mode) && !has_bug(fs, BUG_mkdir_count_unlogged))
        fencefs_log_links(directory, directory->i_nlink + 1);
    error = fencefs_commit(fs);
    if (error) {
        fencefs_discard_inode(inode);
        return error;
    }
    if (S_ISDIR(mode)) {
        inc_nlink(directory);
        if (has_bug(fs, BUG_mkdir_count_unlogged)) {
            WRITE_ONCE(pm_inode(directory)->mode_links,
                       directory->i_mode | (u64)directory->i_nlink << 32);
            fencefs_flush(&pm_inode(directory)->mode_links, sizeof(pm_word));
            fencefs_fence();
        }
    }
    if (target && has_bug(fs, BUG_symlink_late)) {
        fencefs_flush(block_address(fs, pm_inode(inode)->block[0]), inode->i_size + 1);
        fencefs_fence();
    }
    directory_changed(directory, now);
    d_instantiate_new(dentry, inode);
    return 0;
}

static int fencefs_create(struct user_namespace *users, struct inode *directory,
                          struct dentry *dentry, umode_t mode, bool exclusive)
{
    return make(directory, dentry, mode | S_IFREG, NULL);
}

static int fencefs_mkdir(struct user_namespace *users, struct inode *directory,
                         struct dentry *dentry, umode_t mode)
{
    return make(directory, dentry, mode | S_IFDIR, NULL);
}

static int fencefs_symlink(struct user_namespace *users, struct inode *directory,
                           struct dentry *dentry, const char *target)
{
    if (strlen(target) >= FENCEFS_BLOCK)
        return -ENAMETOOLONG;
    return make(directory, dentry, S_IFLNK | 0777, target);
}

static int fencefs_link(struct dentry *old, struct inode *directory, struct dentry *dentry)
{
    struct inode *inode = d_inode(old);
    struct fencefs *fs = fencefs_of(inode->i_sb);
    const struct timespec64 now = current_time(inode);
    int error = fencefs_begin(fs);

    if (error)
        return error;
    error = fencefs_add_entry(directory, &dentry->d_name, inode->i_ino);
    if (error) {
        fencefs_abort(fs);
        return error;
    }
    fencefs_log_times(directory, now);
    if (has_bug(fs, BUG_link_in_two)) {
        error = fencefs_commit(fs) ?: fencefs_begin(fs);
        if (error)
            return error;
    }
    fencefs_log_links(inode, inode->i_nlink + 1);
    fencefs_log(fs, &pm_inode(inode)->ctime, nanoseconds(now));
    error = fencefs_commit(fs);
    if (error)
        return error;
    inc_nlink(inode);
    inode->i_ctime = now;
    directory_changed(directory, now);
    ihold(inode);
    d_instantiate(dentry, inode);
    return 0;
}

/* Of a directory both links go: its name and its own. */
static int remove(struct inode *directory, struct dentry *dentry)
{
    struct inode *inode = d_inode(dentry);
    struct fencefs *fs = fencefs_of(inode->i_sb);
    const bool is_directory = S_ISDIR(inode->i_mode);
    const u32 links = is_directory ? 0 : inode->i_nlink - 1;
    const struct timespec64 now = current_time(inode);
    struct fencefs_entry *entry = fencefs_find(directory, &dentry->d_name);
    int error;

    if (!entry)
        return -ENOENT;
    error = fencefs_begin(fs);
    if (error)
        return error;
    if (!has_bug(fs, BUG_orphan_lost) || links)
        fencefs_log_links(inode, links);
    fencefs_log(fs, &pm_inode(inode)->ctime, nanoseconds(now));
    if (has_bug(fs, BUG_unlink_in_two)) {
        error = fencefs_commit(fs) ?: fencefs_begin(fs);
        if (error)
            return error;
    }
    fencefs_log(fs, &entry->number, 0);
    if (is_directory)
        fencefs_log_links(directory, directory->i_nlink - 1);
    fencefs_log_times(directory, now);
    error = fencefs_commit(fs);
    if (error)
        return error;
    set_nlink(inode, links);
    if (is_directory)
        drop_nlink(directory);
    inode->i_ctime = now;
    directory_changed(directory, now);
    return 0;
}

static int fencefs_unlink(struct inode *directory, struct dentry *dentry)
{
    return remove(directory, dentry);
}

static int fencefs_rmdir(struct inode *directory, struct dentry *dentry)
{
    return fencefs_is_empty(d_inode(dentry)) ? remove(directory, dentry) : -ENOTEMPTY;
}

static int fencefs_iterate(struct file *file, struct dir_context *context)
{
    struct inode *directory = file_inode(file);
    struct fencefs *fs = fencefs_of(directory->i_sb);
    struct fencefs_entry *entry;

    if (!dir_emit_dots(file, context))
        return 0;
    for (; (entry = entry_at(directory, context->pos - 2)); context->pos++) {
        const u64 number = entry->number;

        if (!number)
            continue;
        if (number >= fs->inodes || entry->length > FENCEFS_MAX_NAME)
            return -EUCLEAN;
        if (!dir_emit(context, entry->name, entry->length, number,
                      fs_umode_to_dtype((umode_t)fs->table[number].mode_links)))
            return 0;
    }
    return 0;
}

const struct inode_operations fencefs_directory_inode_operations = {
    .lookup = fencefs_lookup,
    .create = fencefs_create,
    .link = fencefs_link,
    .unlink = fencefs_unlink,
    .symlink = fencefs_symlink,
    .mkdir = fencefs_mkdir,
    .rmdir = fencefs_rmdir,
    .rename = fencefs_rename,
    .setattr = fencefs_setattr,
    .getattr = fencefs_getattr,
    .update_time = fencefs_update_time,
};

const struct inode_operations fencefs_symlink_inode_operations = {
    .get_link = simple_get_link,
    .setattr = fencefs_setattr,
    .getattr = fencefs_getattr,
    .update_time = fencefs_update_time,
};

const struct file_operations fencefs_directory_operations = {
    .llseek = generic_file_llseek,
    .read = generic_read_dir,
    .iterate_shared = fencefs_iterate,
    .fsync = noop_fsync,
};
