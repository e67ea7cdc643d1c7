/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file-system workload: makes, writes, syncs, renames, links, truncates and removes files. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void check(int result, const char *what)
{
    if (result >= 0)
        return;
    perror(what);
    exit(1);
}

static void one_round(int round)
{
    char directory[32], first[64], second[64], third[64];
    static char data[10000];
    snprintf(directory, sizeof directory, "d%d", round % 16);
    snprintf(first, sizeof first, "%s/a%d", directory, round);
    snprintf(second, sizeof second, "%s/b%d", directory, round);
    snprintf(third, sizeof third, "c%d", round);
    if (round < 16)
        check(mkdir(directory, 0755), "mkdir");
    memset(data, 'a' + round % 26, sizeof data);
    const int file = open(first, O_CREAT | O_RDWR, 0644);
    check(file, first);
    check((int)write(file, data, sizeof data), "write");
    check((int)pwrite(file, data, 100, 4000), "pwrite");
    if (round % 4 == 0)
        check(fsync(file), "fsync");
    check(ftruncate(file, 5000), "ftruncate");
    check(close(file), "close");
    check(rename(first, second), "rename");
    check(link(second, third), "link");
    if (round % 2)
        check(unlink(second), "unlink");
}

int main(int argc, char **argv)
{
    if (argc != 3 || chdir(argv[1]) != 0) {
        fprintf(stderr, "usage: %s DIRECTORY ROUNDS\n", argv[0]);
        return 2;
    }
    const int rounds = atoi(argv[2]);
    for (int round = 0; round < rounds; round++)
        one_round(round);
    sync();
    return 0;
}
