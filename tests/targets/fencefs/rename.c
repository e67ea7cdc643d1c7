/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rename: to a free name or over what has it, of files and directories. */
#include <linux/mm.h>

#include "fencefs.h"

static int may_replace(struct inode *target)
{
    return target && S_ISDIR(target->i_mode) && !fencefs_is_empty(target) ? -ENOTEMPTY : 0;
}

/* The name itself, if it does not move to another directory and nothing has the new one. */
static void rename_entry(struct fencefs_entry *entry, const struct qstr *name)
{
    entry->length = name->len;
    memcpy(entry->name, name->name, name->len);
    fencefs_flush(entry, sizeof(*entry));
}

/* In a transaction. */
static int log_rename(struct inode *from, struct fencefs_entry *entry, struct inode *source,
                      struct inode *to, const struct qstr *name, struct inode *target,
                      u32 target_links)
{
    struct fencefs *fs = fencefs_of(from->i_sb);
    const bool moves = S_ISDIR(source->i_mode) && from != to;
    u32 from_links = from->i_nlink;
    u32 to_links = to->i_nlink;
    int error = 0;

    if (has_bug(fs, BUG_name_in_place) && !target && from == to) {
        rename_entry(entry, name);
        return 0;
    }
    if (target) {
        fencefs_log(fs, &fencefs_find(to, name)->number, source->i_ino);
        if (!has_bug(fs, BUG_replaced_count_unlogged))
            fencefs_log_links(target, target_links);
        if (S_ISDIR(target->i_mode))
            to_links--;
    } else {
        error = fencefs_add_entry(to, name, source->i_ino);
    }
    if (error)
        return error;
    if (has_bug(fs, BUG_rename_in_two)) {
        error = fencefs_commit(fs) ?: fencefs_begin(fs);
        if (error)
            return error;
    }
    fencefs_log(fs, &entry->number, 0);
    if (moves) {
        fencefs_log(fs, &pm_inode(source)->parent, to->i_ino);
        from_links--;
        to_links++;
    }
    if (from == to)
        from_links = to_links;
    if (from_links != from->i_nlink && !(moves && has_bug(fs, BUG_move_count_forgotten)))
        fencefs_log_links(from, from_links);
    if (to_links != to->i_nlink && !(moves && has_bug(fs, BUG_move_count_forgotten)))
        fencefs_log_links(to, to_links);
    return 0;
}

static void count_links(struct inode *from, struct inode *source, struct inode *to,
                        struct inode *target, u32 target_links)
{
    if (target) {
        set_nlink(target, target_links);
        if (S_ISDIR(target->i_mode))
            drop_nlink(to);
    }
    if (S_ISDIR(source->i_mode) && from != to) {
        drop_nlink(from);
        inc_nlink(to);
    }
}

int fencefs_rename(struct user_namespace *users, struct inode *from, struct dentry *old,
                   struct inode *to, struct dentry *new, unsigned int flags)
{
    struct inode *source = d_inode(old);
    struct inode *target = d_inode(new);
    struct fencefs *fs = fencefs_of(from->i_sb);
    const struct timespec64 now = current_time(from);
    struct fencefs_entry *entry = fencefs_find(from, &old->d_name);
    u32 target_links = 0;
    int error;

    if (flags & ~RENAME_NOREPLACE || fs->options.no_rename)
        return -EINVAL;
    if (!entry)
        return -ENOENT;
    error = may_replace(target);
    if (!error)
        error = fencefs_begin(fs);
    if (error)
        return error;
    if (target && !S_ISDIR(target->i_mode))
        target_links = target->i_nlink - 1;
    error = log_rename(from, entry, source, to, &new->d_name, target, target_links);
    if (error) {
        fencefs_abort(fs);
        return error;
    }
    fencefs_log_times(from, now);
    fencefs_log_times(to, now);
    fencefs_log(fs, &pm_inode(source)->ctime, nanoseconds(now));
    error = fencefs_commit(fs);
    if (error)
        return error;
    if (target && has_bug(fs, BUG_replaced_count_unlogged)) {
        WRITE_ONCE(pm_inode(target)->mode_links, target->i_mode | (u64)target_links << 32);
        fencefs_flush(&pm_inode(target)->mode_links, sizeof(pm_word));
        fencefs_fence();
    }
    count_links(from, source, to, target, target_links);
    source->i_ctime = now;
    from->i_mtime = from->i_ctime = to->i_mtime = to->i_ctime = now;
    i_size_write(to, pm_inode(to)->size);
    return 0;
}
