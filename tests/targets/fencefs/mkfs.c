/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes an empty fencefs: mkfs.fencefs DEVICE-OR-FILE [OFFSET]; it fills what is there from OFFSET
 * on. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "layout.h"

static uint64_t at_least(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static int write_all(int file, const void *bytes, size_t count, uint64_t offset)
{
    return pwrite(file, bytes, count, (off_t)offset) == (ssize_t)count;
}

static int make(int file, uint64_t offset, uint64_t blocks)
{
    static const unsigned char zeros[FENCEFS_BLOCK];
    struct fencefs_super super = {.magic = FENCEFS_MAGIC,
                                  .version = FENCEFS_VERSION,
                                  .blocks = blocks,
                                  .journal_block = 1,
                                  .journal_blocks = FENCEFS_JOURNAL_BLOCKS,
                                  .table_block = 1 + FENCEFS_JOURNAL_BLOCKS,
                                  .state = FENCEFS_CLEAN};
    struct fencefs_inode root = {.mode_links = 040755ull | 2ull << 32, .parent = FENCEFS_ROOT};
    uint64_t block;

    root.mtime = root.ctime = (uint64_t)time(NULL) * 1000000000ull;
    super.inodes = at_least(64, blocks / 8);
    if (super.inodes > FENCEFS_MAX_INODES)
        super.inodes = FENCEFS_MAX_INODES;
    super.data_block = super.table_block + fencefs_table_blocks(super.inodes);
    if (super.data_block + 16 > blocks) {
        fprintf(stderr, "mkfs.fencefs: %llu blocks are too few\n", (unsigned long long)blocks);
        return 0;
    }
    for (block = 0; block < super.data_block; block++)
        if (!write_all(file, zeros, sizeof(zeros), offset + block * FENCEFS_BLOCK))
            goto failed;
    if (write_all(file, &root, sizeof(root),
                  offset + super.table_block * FENCEFS_BLOCK +
                      FENCEFS_ROOT * sizeof(struct fencefs_inode)) &&
        write_all(file, &super, sizeof(super), offset) && fsync(file) == 0)
        return 1;
failed:
    fprintf(stderr, "mkfs.fencefs: cannot write: %s\n", strerror(errno));
    return 0;
}

int main(int argc, char **argv)
{
    uint64_t offset = 0;
    off_t end;
    int file;

    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: mkfs.fencefs DEVICE-OR-FILE [OFFSET]\n");
        return 2;
    }
    if (argc == 3)
        offset = strtoull(argv[2], NULL, 0);
    file = open(argv[1], O_RDWR);
    end = file < 0 ? -1 : lseek(file, 0, SEEK_END);
    if (end < 0) {
        fprintf(stderr, "mkfs.fencefs: cannot open %s: %s\n", argv[1], strerror(errno));
        return 1;
    }
    if ((uint64_t)end < offset) {
        fprintf(stderr, "mkfs.fencefs: %s ends before offset %llu\n", argv[1],
                (unsigned long long)offset);
        return 1;
    }
    return make(file, offset, ((uint64_t)end - offset) / FENCEFS_BLOCK) ? 0 : 1;
}
