/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mounting; the module itself. */
#include <linux/bitmap.h>
#include <linux/module.h>
#include <linux/pfn_t.h>
#include <linux/slab.h>
#include <linux/statfs.h>

#include "fencefs.h"

static void set_state(struct fencefs *fs, u64 state)
{
    WRITE_ONCE(fs->super->state, state);
    fencefs_flush(&fs->super->state, sizeof(pm_word));
    fencefs_fence();
}

static int find_pm(struct fencefs *fs, struct super_block *sb)
{
    const long pages = bdev_nr_bytes(sb->s_bdev) / PAGE_SIZE;

    fs->dax = fs_dax_get_by_bdev(sb->s_bdev, &fs->dax_offset, fs, NULL);
    if (!fs->dax) {
        pr_err("fencefs: %s has no DAX\n", sb->s_id);
        return -ENODEV;
    }
    if (dax_direct_access(fs->dax, fs->dax_offset / PAGE_SIZE, pages, DAX_ACCESS, &fs->pm, NULL) <
        pages) {
        pr_err("fencefs: %s is not one piece of memory\n", sb->s_id);
        return -EIO;
    }
    fs->super = fs->pm;
    return 0;
}

static int read_super(struct fencefs *fs, struct super_block *sb)
{
    const struct fencefs_super *super = fs->super;

    if (super->magic != FENCEFS_MAGIC || super->version != FENCEFS_VERSION) {
        pr_err("fencefs: there is none on %s\n", sb->s_id);
        return -EINVAL;
    }
    if (!fencefs_fits(super, bdev_nr_bytes(sb->s_bdev)))
        return -EUCLEAN;
    fs->blocks = super->blocks;
    fs->inodes = super->inodes;
    fs->data_block = super->data_block;
    fs->journal = block_address(fs, super->journal_block);
    fs->table = block_address(fs, super->table_block);
    return 0;
}

static void fencefs_put_super(struct super_block *sb)
{
    struct fencefs *fs = fencefs_of(sb);

    if (!fs)
        return;
    if (fs->mounted)
        set_state(fs, FENCEFS_CLEAN);
    bitmap_free(fs->block_map);
    bitmap_free(fs->inode_map);
    fencefs_journal_free(fs);
    fs_put_dax(fs->dax, fs);
    kfree(fs);
    sb->s_fs_info = NULL;
}

static int fencefs_statfs(struct dentry *dentry, struct kstatfs *stat)
{
    struct fencefs *fs = fencefs_of(dentry->d_sb);

    stat->f_type = FENCEFS_MAGIC & 0xffffffff;
    stat->f_bsize = FENCEFS_BLOCK;
    stat->f_blocks = fs->blocks - fs->data_block;
    stat->f_bfree = stat->f_bavail = fs->free_blocks;
    stat->f_files = fs->inodes - FENCEFS_ROOT;
    stat->f_ffree = fs->free_inodes;
    stat->f_namelen = FENCEFS_MAX_NAME;
    return 0;
}

static const struct super_operations super_operations = {
    .evict_inode = fencefs_evict,
    .free_inode = fencefs_free_inode,
    .put_super = fencefs_put_super,
    .statfs = fencefs_statfs,
    .show_options = fencefs_show_options,
    .drop_inode = generic_drop_inode,
};

static int fill_super(struct super_block *sb, struct fs_context *context)
{
    struct fencefs *fs = kzalloc(sizeof(*fs), GFP_KERNEL);
    struct inode *root;
    int error;

    if (!fs)
        return -ENOMEM;
    fs->options = *(const struct fencefs_options *)context->fs_private;
    spin_lock_init(&fs->map_lock);
    sb->s_fs_info = fs;
    sb->s_op = &super_operations;
    sb->s_magic = FENCEFS_MAGIC & 0xffffffff;
    sb->s_maxbytes = FENCEFS_MAX_BLOCKS * FENCEFS_BLOCK;
    sb->s_time_gran = 1;
    sb->s_flags |= SB_NOATIME;
    sb_set_blocksize(sb, FENCEFS_BLOCK);
    error = fencefs_journal_make(fs);
    if (!error)
        error = find_pm(fs, sb);
    if (!error)
        error = read_super(fs, sb);
    if (!error)
        error = fencefs_recover(fs);
    if (error == -EUCLEAN)
        pr_err("fencefs: %s is damaged\n", sb->s_id);
    if (error)
        goto fail;
    root = fencefs_iget(sb, FENCEFS_ROOT);
    if (IS_ERR(root)) {
        error = PTR_ERR(root);
        goto fail;
    }
    sb->s_root = d_make_root(root);
    error = sb->s_root ? 0 : -ENOMEM;
    if (error)
        goto fail;
    set_state(fs, FENCEFS_IN_USE);
    fs->mounted = true;
    return 0;
fail:
    fencefs_put_super(sb);
    return error;
}

static int get_tree(struct fs_context *context)
{
    return get_tree_bdev(context, fill_super);
}

/* Options of a remount are passed over: the mode and the variant stay what they are. */
static int reconfigure(struct fs_context *context)
{
    return 0;
}

static const struct fs_context_operations context_operations = {
    .free = fencefs_free_options,
    .parse_param = fencefs_parse_option,
    .get_tree = get_tree,
    .reconfigure = reconfigure,
};

static int init_fs_context(struct fs_context *context)
{
    context->ops = &context_operations;
    return fencefs_make_options(context);
}

static struct file_system_type type = {
    .owner = THIS_MODULE,
    .name = "fencefs",
    .fs_flags = FS_REQUIRES_DEV,
    .init_fs_context = init_fs_context,
    .parameters = fencefs_parameters,
    .kill_sb = kill_block_super,
};

static int __init fencefs_init(void)
{
    return fencefs_check_parameter() ?: register_filesystem(&type);
}

static void __exit fencefs_exit(void)
{
    unregister_filesystem(&type);
}

module_init(fencefs_init);
module_exit(fencefs_exit);
MODULE_LICENSE("GPL");
MODULE_ALIAS_FS("fencefs");
MODULE_DESCRIPTION("A small file system for persistent memory, right or wrong as asked");
