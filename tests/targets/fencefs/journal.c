/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Transactions. A transaction collects words and their new values in memory; its commit writes them
 * to the journal, makes them durable, sets the commit word (the one store that decides), brings the
 * words to their places, makes those durable, and clears the commit word.
 */
#include <linux/mm.h>
#include <linux/sort.h>

#include "fencefs.h"

static pm_word *record_word(struct fencefs *fs, u64 where)
{
    return fs->pm + (where & ~FENCEFS_ADD);
}

int fencefs_journal_make(struct fencefs *fs)
{
    mutex_init(&fs->journal_lock);
    fs->records = kvcalloc(FENCEFS_RECORDS, sizeof(*fs->records), GFP_KERNEL);
    fs->fresh = kvcalloc(FENCEFS_RECORDS, sizeof(*fs->fresh), GFP_KERNEL);
    fs->doomed = kvcalloc(FENCEFS_RECORDS, sizeof(*fs->doomed), GFP_KERNEL);
    return fs->records && fs->fresh && fs->doomed ? 0 : -ENOMEM;
}

void fencefs_journal_free(struct fencefs *fs)
{
    kvfree(fs->records);
    kvfree(fs->fresh);
    kvfree(fs->doomed);
}

int fencefs_begin(struct fencefs *fs)
{
    mutex_lock(&fs->journal_lock);
    if (fs->replaying) {
        mutex_unlock(&fs->journal_lock);
        return -EROFS;
    }
    fs->count = 0;
    fs->fresh_count = 0;
    fs->doomed_count = 0;
    fs->overflow = false;
    return 0;
}

static struct fencefs_record *find_record(struct fencefs *fs, u64 where)
{
    u32 i;

    for (i = fs->count; i > 0; i--)
        if (fs->records[i - 1].where == where)
            return &fs->records[i - 1];
    return NULL;
}

static void add_record(struct fencefs *fs, u64 where, u64 value)
{
    struct fencefs_record *record = find_record(fs, where);

    if (!record) {
        if (fs->count == FENCEFS_RECORDS) {
            fs->overflow = true;
            return;
        }
        record = &fs->records[fs->count++];
        record->where = where;
    }
    record->value = value;
}

void fencefs_log(struct fencefs *fs, pm_word *where, u64 value)
{
    add_record(fs, (void *)where - fs->pm, value);
}

void fencefs_log_links(struct inode *inode, u32 links)
{
    struct fencefs *fs = fencefs_of(inode->i_sb);
    struct fencefs_inode *pi = pm_inode(inode);

    if (has_bug(fs, BUG_recovery_adds) && READ_ONCE(pi->mode_links)) {
        add_record(fs, ((void *)&pi->mode_links - fs->pm) | FENCEFS_ADD,
                   ((u64)links << 32) - (READ_ONCE(pi->mode_links) >> 32 << 32));
        return;
    }
    fencefs_log(fs, &pi->mode_links, inode->i_mode | (u64)links << 32);
}

void fencefs_log_times(struct inode *inode, struct timespec64 now)
{
    struct fencefs *fs = fencefs_of(inode->i_sb);
    struct fencefs_inode *pi = pm_inode(inode);

    fencefs_log(fs, &pi->mtime, nanoseconds(now));
    fencefs_log(fs, &pi->ctime, nanoseconds(now));
}

/* What a word will be after the transaction, 0 if it is not in it. */
u64 fencefs_pending(struct fencefs *fs, const pm_word *where)
{
    struct fencefs_record *record = find_record(fs, (void *)where - fs->pm);

    return record ? record->value : 0;
}

/* A block that becomes free again if the transaction is given up. */
void fencefs_adopt(struct fencefs *fs, u64 block)
{
    if (fs->fresh_count == FENCEFS_RECORDS)
        fs->overflow = true;
    else
        fs->fresh[fs->fresh_count++] = block;
}

/* A block that becomes free when the transaction is durable. */
void fencefs_doom(struct fencefs *fs, u64 block, int level)
{
    if (fs->doomed_count == FENCEFS_RECORDS) {
        fs->overflow = true;
        return;
    }
    fs->doomed[fs->doomed_count].block = block;
    fs->doomed[fs->doomed_count].level = level;
    fs->doomed_count++;
}

static int by_place(const void *a, const void *b)
{
    const struct fencefs_record *left = a;
    const struct fencefs_record *right = b;

    return left->where < right->where ? -1 : left->where > right->where;
}

static void write_records(struct fencefs *fs)
{
    u32 i;

    for (i = 0; i < fs->count; i++) {
        WRITE_ONCE(fs->journal->records[i].where, fs->records[i].where);
        WRITE_ONCE(fs->journal->records[i].value, fs->records[i].value);
    }
}

static void set_commit(struct fencefs *fs, u64 count)
{
    WRITE_ONCE(fs->journal->commit, count);
    fencefs_flush(&fs->journal->commit, sizeof(pm_word));
}

static void apply_record(struct fencefs *fs, const struct fencefs_record *record)
{
    pm_word *word = record_word(fs, record->where);

    WRITE_ONCE(*word, record->where & FENCEFS_ADD ? *word + record->value : record->value);
}

/* Records are in the order of their places: each line is flushed once. */
static void flush_places(struct fencefs *fs, const struct fencefs_record *records, u64 count)
{
    u64 line = 0;
    u64 i;

    for (i = 0; i < count; i++) {
        const u64 next = records[i].where / 64;

        if (i == 0 || next != line)
            fencefs_flush(record_word(fs, records[i].where), sizeof(pm_word));
        line = next;
    }
}

static void commit_records(struct fencefs *fs)
{
    const size_t bytes = fs->count * sizeof(*fs->records);
    u32 i;

    if (has_bug(fs, BUG_commit_first)) {
        set_commit(fs, fs->count);
        fencefs_fence();
    }
    write_records(fs);
    if (!has_bug(fs, BUG_journal_unflushed))
        fencefs_flush(fs->journal->records, bytes);
    if (has_bug(fs, BUG_flush_twice))
        fencefs_flush(fs->journal->records, bytes);
    if (!has_bug(fs, BUG_commit_unfenced))
        fencefs_fence();
    if (!has_bug(fs, BUG_commit_first)) {
        set_commit(fs, fs->count);
        fencefs_fence();
    }
    if (has_bug(fs, BUG_fence_twice))
        fencefs_fence();

    for (i = 0; i < fs->count; i++)
        apply_record(fs, &fs->records[i]);
    if (has_bug(fs, BUG_freed_early)) {
        set_commit(fs, 0);
        fencefs_fence();
    }
    if (!has_bug(fs, BUG_apply_unflushed))
        flush_places(fs, fs->records, fs->count);
    if (has_bug(fs, BUG_flush_clean))
        fencefs_flush(fs->super, 64);
    fencefs_fence();
    if (!has_bug(fs, BUG_freed_early)) {
        set_commit(fs, 0);
        fencefs_fence();
    }
}

int fencefs_commit(struct fencefs *fs)
{
    u32 i;

    if (fs->overflow) {
        fencefs_abort(fs);
        return -EFBIG;
    }
    sort(fs->records, fs->count, sizeof(*fs->records), by_place, NULL);
    if (fs->count)
        commit_records(fs);
    for (i = 0; i < fs->doomed_count; i++)
        fencefs_release_tree(fs, fs->doomed[i].block, fs->doomed[i].level);
    mutex_unlock(&fs->journal_lock);
    return 0;
}

void fencefs_abort(struct fencefs *fs)
{
    u32 i;

    for (i = 0; i < fs->fresh_count; i++)
        fencefs_release_block(fs, fs->fresh[i]);
    mutex_unlock(&fs->journal_lock);
}

/* At mount: what was committed and perhaps not brought to its places. */
int fencefs_replay(struct fencefs *fs)
{
    const struct fencefs_record *records = fs->journal->records;
    const u64 count = READ_ONCE(fs->journal->commit);
    u64 i;

    if (!count)
        return 0;
    if (count > FENCEFS_RECORDS)
        return -EUCLEAN;
    fs->replaying = true;
    for (i = 0; i < count;) {
        const u64 where = records[i].where & ~FENCEFS_ADD;

        if (where % sizeof(pm_word) || where >= fs->blocks * FENCEFS_BLOCK)
            return -EUCLEAN;
        if (has_bug(fs, BUG_recovery_oops) && !test_bit(where / FENCEFS_BLOCK, fs->block_map))
            return -EUCLEAN;
        if (has_bug(fs, BUG_recovery_loops) && *record_word(fs, where) == records[i].value)
            continue;
        apply_record(fs, &records[i]);
        i++;
    }
    if (!has_bug(fs, BUG_recovery_unflushed))
        flush_places(fs, records, count);
    fencefs_fence();
    set_commit(fs, 0);
    fencefs_fence();
    if (!has_bug(fs, BUG_recovery_read_only))
        fs->replaying = false;
    return 0;
}
