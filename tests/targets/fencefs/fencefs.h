/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fencefs: a small file system for PM. Every operation that has returned is durable, and each is
 * atomic (with data=inplace, all but the bytes that a write replaces): it prepares what nobody can
 * see yet (new blocks, new inodes, names in free entries), then changes all words that make it
 * visible in one transaction of the redo journal.
 */
#ifndef FENCEFS_H
#define FENCEFS_H

#include <linux/dax.h>
#include <linux/fs.h>
#include <linux/fs_context.h>
#include <linux/fs_parser.h>
#include <linux/iomap.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/spinlock.h>

#include "bugs.h"
#include "layout.h"

/* A block that a transaction makes free, with all below it: level 0 is data, 1 a block of blocks…
 */
struct fencefs_doomed {
    u64 block;
    int level;
};

/* What a mount asks for. All but `bug` are ways to be correct. */
struct fencefs_options {
    enum fencefs_bug bug;
    bool in_place;  /* data=inplace: writes go over what is there, else to new blocks (data=cow) */
    bool chatty;    /* an alert in the kernel's log for every write, though nothing is wrong */
    bool no_rename; /* every rename fails with EINVAL */
};

struct fencefs {
    struct dax_device *dax;
    u64 dax_offset;
    void *pm; /* all of the device */
    struct fencefs_super *super;
    struct fencefs_journal *journal;
    struct fencefs_inode *table;
    u64 blocks;
    u64 inodes;
    u64 data_block;
    struct fencefs_options options;
    bool replaying;
    bool mounted;

    spinlock_t map_lock; /* the maps of what is used */
    unsigned long *block_map;
    unsigned long *inode_map;
    u64 free_blocks;
    u64 free_inodes;

    struct mutex
        journal_lock; /* from begin to commit or abort; all below belongs to the transaction */
    struct fencefs_record *records;
    u32 count;
    u64 *fresh; /* allocated by it */
    u32 fresh_count;
    struct fencefs_doomed *doomed;
    u32 doomed_count;
    bool overflow;
};

static inline struct fencefs *fencefs_of(struct super_block *sb)
{
    return sb->s_fs_info;
}

static inline bool has_bug(const struct fencefs *fs, enum fencefs_bug bug)
{
    return fs->options.bug == bug;
}

static inline void *block_address(struct fencefs *fs, u64 block)
{
    return fs->pm + block * FENCEFS_BLOCK;
}

static inline bool block_valid(const struct fencefs *fs, u64 block)
{
    return block >= fs->data_block && block < fs->blocks;
}

/* Of what a word of an inode's block table stands for. */
static inline int level_of(u64 slot)
{
    return slot < FENCEFS_DIRECT ? 0 : slot == FENCEFS_INDIRECT ? 1 : 2;
}

static inline struct fencefs_inode *pm_inode(struct inode *inode)
{
    return fencefs_of(inode->i_sb)->table + inode->i_ino;
}

static inline u64 nanoseconds(struct timespec64 time)
{
    return timespec64_to_ns(&time);
}

/* pm.c: bytes to PM. A write is durable after flush() and then fence(); streamed bytes need only
 * the fence. */
void fencefs_flush(const void *at, size_t bytes);
void fencefs_fence(void);
void fencefs_stream(void *to, const void *from, size_t bytes);
void fencefs_stream_zeros(void *to, size_t bytes);

/* journal.c */
int fencefs_journal_make(struct fencefs *fs);
void fencefs_journal_free(struct fencefs *fs);
int fencefs_begin(struct fencefs *fs);
void fencefs_log(struct fencefs *fs, pm_word *where, u64 value);
void fencefs_log_links(struct inode *inode, u32 links);
void fencefs_log_times(struct inode *inode, struct timespec64 now);
u64 fencefs_pending(struct fencefs *fs, const pm_word *where);
void fencefs_adopt(struct fencefs *fs, u64 block);
void fencefs_doom(struct fencefs *fs, u64 block, int level);
int fencefs_commit(struct fencefs *fs);
void fencefs_abort(struct fencefs *fs);
int fencefs_replay(struct fencefs *fs);

/* blocks.c */
int fencefs_take_blocks(struct fencefs *fs, u32 count, u64 *blocks);
void fencefs_release_block(struct fencefs *fs, u64 block);
void fencefs_release_tree(struct fencefs *fs, u64 block, int level);
u64 fencefs_take_inode(struct fencefs *fs);
void fencefs_release_inode(struct fencefs *fs, u64 number);
int fencefs_scan(struct fencefs *fs);
pm_word *fencefs_slot(struct inode *inode, u64 index);
pm_word *fencefs_make_slot(struct inode *inode, u64 index);
u64 fencefs_block_at(struct inode *inode, u64 index);
void fencefs_log_cut(struct inode *inode, u64 first);
u64 fencefs_count_blocks(struct inode *inode);

/* inode.c */
struct inode *fencefs_iget(struct super_block *sb, u64 number);
struct inode *fencefs_new_inode(struct inode *directory, umode_t mode);
void fencefs_discard_inode(struct inode *inode);
void fencefs_evict(struct inode *inode);
void fencefs_free_inode(struct inode *inode);
int fencefs_setattr(struct user_namespace *users, struct dentry *dentry, struct iattr *attr);
int fencefs_getattr(struct user_namespace *users, const struct path *path, struct kstat *stat,
                    u32 mask, unsigned int flags);
int fencefs_update_time(struct inode *inode, struct timespec64 *time, int flags);

/* options.c */
extern const struct fs_parameter_spec fencefs_parameters[];
int fencefs_make_options(struct fs_context *context);
void fencefs_free_options(struct fs_context *context);
int fencefs_parse_option(struct fs_context *context, struct fs_parameter *parameter);
int fencefs_show_options(struct seq_file *out, struct dentry *root);
int fencefs_check_parameter(void);

/* recovery.c */
int fencefs_recover(struct fencefs *fs);

/* in_place.c */
ssize_t fencefs_write_in_place(struct inode *inode, loff_t start, struct iov_iter *from);

/* write.c. One transaction's worth; a longer write is a short one. */
#define FENCEFS_MAX_WRITE (256 * FENCEFS_BLOCK)
ssize_t fencefs_write_new(struct inode *inode, loff_t start, struct iov_iter *from);
ssize_t fencefs_write_over(struct inode *inode, loff_t start, struct iov_iter *from);
int fencefs_write_back(struct inode *inode, u64 first, u64 last);
void fencefs_clear_rest(struct inode *inode);

/* file.c */
extern const struct file_operations fencefs_file_operations;
extern const struct inode_operations fencefs_file_inode_operations;
extern const struct address_space_operations fencefs_mapping_operations;
int fencefs_resize(struct inode *inode, loff_t size);

/* directory.c */
extern const struct inode_operations fencefs_directory_inode_operations;
extern const struct inode_operations fencefs_symlink_inode_operations;
extern const struct file_operations fencefs_directory_operations;
struct fencefs_entry *fencefs_find(struct inode *directory, const struct qstr *name);
bool fencefs_is_empty(struct inode *directory);
int fencefs_add_entry(struct inode *directory, const struct qstr *name, u64 number);

/* rename.c */
int fencefs_rename(struct user_namespace *users, struct inode *from, struct dentry *old,
                   struct inode *to, struct dentry *new, unsigned int flags);

#endif
