/* SPDX-License-Identifier: GPL-2.0-or-later */
/* At mount: the journal is replayed, then the maps of what is used are made. */
#include <linux/bitmap.h>
#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/sched.h>

#include "fencefs.h"

struct replay {
    struct fencefs *fs;
    struct completion done;
    int error;
};

/* Are the places of the records blocks in use? Asked of a map that is made after the replay. */
static noinline int check_places(struct fencefs *fs)
{
    const u64 count = READ_ONCE(fs->journal->commit);
    u64 i;

    for (i = 0; i < count && i < FENCEFS_RECORDS; i++)
        if (!test_bit(fs->journal->records[i].where / FENCEFS_BLOCK, fs->block_map))
            return -EUCLEAN;
    return 0;
}

/* Until all words of the transaction are in their places, which nobody brings them to. */
static noinline void await_places(struct fencefs *fs)
{
    const u64 count = READ_ONCE(fs->journal->commit);
    u64 i;

    for (i = 0; i < count && i < FENCEFS_RECORDS; i++) {
        const struct fencefs_record *record = &fs->journal->records[i];

        while (READ_ONCE(*(pm_word *)(fs->pm + record->where)) != record->value)
            cond_resched();
    }
}

static int replay_thread(void *argument)
{
    struct replay *replay = argument;
    struct fencefs *fs = replay->fs;

    if (has_bug(fs, BUG_replay_thread_oops))
        replay->error = check_places(fs);
    if (has_bug(fs, BUG_replay_thread_loops))
        await_places(fs);
    if (!replay->error)
        replay->error = fencefs_replay(fs);
    complete(&replay->done);
    return 0;
}

/* By a thread of its own, which the mount waits for. */
static int replay_in_thread(struct fencefs *fs)
{
    struct replay replay = {.fs = fs};
    struct task_struct *thread;

    init_completion(&replay.done);
    thread = kthread_run(replay_thread, &replay, "fencefs-replay");
    if (IS_ERR(thread))
        return PTR_ERR(thread);
    wait_for_completion(&replay.done);
    return replay.error;
}

int fencefs_recover(struct fencefs *fs)
{
    const bool thread = has_bug(fs, BUG_replay_thread_oops) || has_bug(fs, BUG_replay_thread_loops);
    const int error = thread ? replay_in_thread(fs) : fencefs_replay(fs);

    if (error)
        return error;
    fs->block_map = bitmap_zalloc(fs->blocks, GFP_KERNEL);
    fs->inode_map = bitmap_zalloc(fs->inodes, GFP_KERNEL);
    if (!fs->block_map || !fs->inode_map)
        return -ENOMEM;
    fs->free_blocks = fs->blocks - fs->data_block;
    fs->free_inodes = fs->inodes - FENCEFS_ROOT;
    return fencefs_scan(fs);
}
