/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What fencefs keeps in PM, for the module, mkfs and fsck. x86 only: all words are little-endian.
 *
 * block 0          superblock
 * journal_block    a redo journal: the commit word, then (where, value) pairs
 * table_block      inodes, by number; 0 is none, 1 the root
 * data_block       data, directories, index blocks. Which of them are free is known only in memory,
 * from the inodes at each mount.
 */
#ifndef FENCEFS_LAYOUT_H
#define FENCEFS_LAYOUT_H

#ifdef __KERNEL__
#include <linux/types.h>
typedef u64 pm_word;
#else
#include <stdint.h>
typedef uint64_t pm_word;
#endif

#define FENCEFS_MAGIC 0x3130736665636e65ull
#define FENCEFS_VERSION 1
#define FENCEFS_BLOCK 4096ull
#define FENCEFS_ROOT 1
#define FENCEFS_JOURNAL_BLOCKS 16
#define FENCEFS_MAX_INODES 4096
#define FENCEFS_MAX_NAME 119

#define FENCEFS_CLEAN 1 /* unmounted in peace: no transaction, no orphans */
#define FENCEFS_IN_USE 2

struct fencefs_super {
    pm_word magic;
    pm_word version;
    pm_word blocks;
    pm_word inodes;
    pm_word journal_block;
    pm_word journal_blocks;
    pm_word table_block;
    pm_word data_block;
    pm_word state; /* on a line of its own */
    pm_word unused[7];
};

/* In a record's `where`: the value is what to add. Only the variant recovery_adds has such. */
#define FENCEFS_ADD 1ull

/* `where` is the byte offset of a word from the superblock. */
struct fencefs_record {
    pm_word where;
    pm_word value;
};

#define FENCEFS_RECORDS                                                                            \
    ((FENCEFS_JOURNAL_BLOCKS * FENCEFS_BLOCK - 64) / sizeof(struct fencefs_record))

/* The records count once `commit`, their number, is not 0. */
struct fencefs_journal {
    pm_word commit;
    pm_word unused[7];
    struct fencefs_record records[FENCEFS_RECORDS];
};

#define FENCEFS_DIRECT 12
#define FENCEFS_INDIRECT 12 /* index of the block of block numbers */
#define FENCEFS_DOUBLE 13   /* index of the block of blocks of block numbers */
#define FENCEFS_PER_BLOCK (FENCEFS_BLOCK / sizeof(pm_word))
#define FENCEFS_MAX_BLOCKS                                                                         \
    (FENCEFS_DIRECT + FENCEFS_PER_BLOCK + FENCEFS_PER_BLOCK * FENCEFS_PER_BLOCK)

/* Not in use when the mode is 0; an orphan, to be reclaimed at the next mount, when links are 0. */
struct fencefs_inode {
    pm_word mode_links; /* mode, and links << 32 */
    pm_word owner;      /* uid, and gid << 32 */
    pm_word size;
    pm_word mtime; /* nanoseconds since 1970 */
    pm_word ctime;
    pm_word parent; /* of a directory */
    pm_word writer; /* only the variant writer_mark_kept: somebody writes */
    pm_word unused;
    pm_word block[14];
    pm_word unused_too[10];
};

/* 32 of them in each block of a directory; free when the number is 0. */
struct fencefs_entry {
    pm_word number;
    unsigned char length;
    char name[FENCEFS_MAX_NAME];
};

#define FENCEFS_ENTRIES (FENCEFS_BLOCK / sizeof(struct fencefs_entry))

static inline pm_word fencefs_table_blocks(pm_word inodes)
{
    return (inodes * sizeof(struct fencefs_inode) + FENCEFS_BLOCK - 1) / FENCEFS_BLOCK;
}

/* Can what the superblock says be, on a device of so many bytes? */
static inline int fencefs_fits(const struct fencefs_super *super, pm_word bytes)
{
    return super->blocks <= bytes / FENCEFS_BLOCK && super->inodes <= FENCEFS_MAX_INODES &&
           super->journal_block == 1 && super->journal_blocks == FENCEFS_JOURNAL_BLOCKS &&
           super->table_block == 1 + FENCEFS_JOURNAL_BLOCKS &&
           super->data_block == super->table_block + fencefs_table_blocks(super->inodes) &&
           super->data_block < super->blocks;
}

#endif
