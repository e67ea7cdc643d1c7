// SPDX-License-Identifier: GPL-2.0-or-later
// A file system whose mount does what the first byte of its device says: for tests of what happens
// to guests. It keeps nothing.
#include <linux/buffer_head.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/kthread.h>
#include <linux/module.h>

#define MOODFS_MAGIC 0x6d6f6f64

static DECLARE_COMPLETION(never);
static bool leaked; // what a failed mount left behind

static noinline int moodfs_oops(void *argument)
{
    *(volatile int *)argument = 1;
    return 0;
}

static int in_this_mood(char mood)
{
    switch (mood) {
    case 'c': // chatty
        pr_alert("moodfs: mount %d is fine\n", current->pid);
        return 0;
    case 'f': // fails, and leaks
        leaked = true;
        return -EUCLEAN;
    case 'v': // must fail, but does not once something has leaked
        return leaked ? 0 : -EUCLEAN;
    case 'o': // complains once
        pr_err_once("moodfs: this is wrong\n");
        return 0;
    case 'w': // warns, which a kernel does once for each place
        WARN_ONCE(1, "moodfs: this is odd\n");
        return 0;
    case 'r': // complains more often than it is let
        pr_info("__ratelimit: 3 callbacks suppressed\n");
        return 0;
    case 's': // slow
        msleep(4000);
        return 0;
    case 'h': // hangs
        pr_info("moodfs: waiting for %d\n", current->pid);
        wait_for_completion(&never);
        return 0;
    case 'x': // a thread that the mount waits for oopses
        if (!IS_ERR(kthread_run(moodfs_oops, (void *)8, "moodfs-thread")))
            wait_for_completion(&never);
        return 0;
    }
    return 0;
}

static int fill_super(struct super_block *super, void *data, int silent)
{
    static const struct tree_descr no_files[] = {{""}};
    struct buffer_head *first;
    char mood;
    int error;

    sb_set_blocksize(super, 4096);
    first = sb_bread(super, 0);
    if (!first)
        return -EIO;
    mood = first->b_data[0];
    brelse(first);
    error = in_this_mood(mood);
    return error ? error : simple_fill_super(super, MOODFS_MAGIC, no_files);
}

static struct dentry *mount_moodfs(struct file_system_type *type, int flags, const char *device,
                                   void *data)
{
    return mount_bdev(type, flags, device, data, fill_super);
}

static void kill_moodfs(struct super_block *super)
{
    if (super->s_root)
        d_genocide(super->s_root);
    kill_block_super(super);
}

static struct file_system_type moodfs = {
    .owner = THIS_MODULE,
    .name = "moodfs",
    .mount = mount_moodfs,
    .kill_sb = kill_moodfs,
    .fs_flags = FS_REQUIRES_DEV,
};

static int __init moodfs_init(void)
{
    return register_filesystem(&moodfs);
}

static void __exit moodfs_exit(void)
{
    unregister_filesystem(&moodfs);
}

module_init(moodfs_init);
module_exit(moodfs_exit);
MODULE_LICENSE("GPL");
