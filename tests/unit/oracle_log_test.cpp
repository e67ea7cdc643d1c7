// SPDX-License-Identifier: GPL-2.0-or-later
// What the kernel log is watched for: lines as kernels wrote them, and lines that must not alarm.
#include "replayer/oracle/log_watch.h"

#include <gtest/gtest.h>

#include "replayer/oracle/log_context.h"

namespace fencepost::oracle {
namespace {

std::string alarm(const std::string &log)
{
    const auto found = find_alarm(log);
    if (!found)
        return "quiet";
    const char *names[] = {"error", "warning", "crash"};
    return std::string(names[static_cast<int>(found->alarm)]) + ": " + found->summary;
}

TEST(LogWatch, EverydayLinesAreQuiet)
{
    EXPECT_EQ(alarm(""), "quiet");
    EXPECT_EQ(alarm("6,387,4092760,-;EXT4-fs (pmem0): mounted filesystem with ordered data mode. "
                    "Quota mode: none.\n"
                    "6,388,4167396,-;EXT4-fs (pmem0): unmounting filesystem.\n"
                    "4,389,4167397,-;EXT4-fs (pmem0): DAX enabled. Warning: EXPERIMENTAL, use at "
                    "your own risk\n"
                    "6,390,4167398,-;EXT4-fs (pmem0): recovery complete\n"
                    "6,391,4167399,-;EXT4-fs (pmem0): 1 orphan inode deleted\n"
                    "5,392,4167400,-;XFS (pmem0): Mounting V5 Filesystem\n"
                    "5,393,4167401,-;XFS (pmem0): Starting recovery (logdev: internal)\n"
                    "6,394,4167402,-;XFS (pmem0): Ending clean mount\n"
                    "4,395,4167403,-;XFS (pmem0): DAX enabled. Warning: EXPERIMENTAL, use at your "
                    "own risk\n"
                    // Of older kernels.
                    "6,396,4167404,-;EXT4-fs (pmem0): mounted filesystem with ordered data mode. "
                    "Opts: dax,errors=remount-ro\n"
                    "4,397,4167405,-;EXT2-fs (pmem0): warning: mounting unchecked fs, running "
                    "e2fsck is recommended\n"
                    // What processes write to the log has their facility.
                    "11,398,4167406,-;checker: nothing is lost\n"),
              "quiet");
}

// With the priorities that kernels give them, and without: then the words must do.
TEST(LogWatch, FileSystemsAndTheKernelInTheirOwnWords)
{
    const std::pair<const char *, const char *> cases[] = {
        {"error", "EXT2-fs (pmem0): error: ext2_lookup: deleted inode referenced"},
        {"error", "BTRFS error (device pmem0): bad tree block start"},
        {"error", "nova error: "},
        {"error", "JBD2: Spotted dirty metadata buffer (dev = pmem0, blocknr = x). There's a risk "
                  "of filesystem corruption in case of system crash."},
        {"error", "Aborting journal on device pmem0."},
        {"error", "EXT4-fs (pmem0): Inode x (y): i_reserved_data_blocks (z) not cleared!"},
        {"error", "EXT4-fs (pmem0): warning: mounting fs with errors, running e2fsck is "
                  "recommended"},
        {"error", "XFS (pmem0): Access to block zero in inode x start_block: y"},
        {"warning", "VFS: Busy inodes after unmount of pmem0. Self-destruct in x seconds."},
        {"warning", "INFO: trying to register non-static key."},
        {"crash", "traps: PANIC: double fault, error_code: x"},
        {"crash", "NMI watchdog: Watchdog detected hard LOCKUP on cpu x"},
    };
    for (const auto &[kind, line] : cases)
        for (const char *prefix : {"", "4,1,1,-;"})
            EXPECT_EQ(alarm(std::string(prefix) + line + "\n"), std::string(kind) + ": " + line);
}

TEST(LogWatch, WhatTheKernelCallsAnErrorIsOne)
{
    EXPECT_EQ(alarm("3,1,1,-;somefs: a word that nobody foresaw\n"),
              "error: somefs: a word that nobody foresaw");
    EXPECT_EQ(alarm("0,1,1,-;somefs: x\n"), "error: somefs: x");
    EXPECT_EQ(alarm("4,1,1,-;somefs: a word that nobody foresaw\n"), "quiet");
    EXPECT_EQ(alarm("3,1,1,-;somefs: x\n4,1,1,-;WARNING: CPU: a at b\n"),
              "warning: WARNING: CPU: a at b");
}

TEST(LogWatch, SaysWhichKindAndTheSameEachTime)
{
    EXPECT_EQ(alarm("2,400,1,-;EXT4-fs error (device pmem0): ext4_lookup:1853: inode #12: comm "
                    "fencepost-serve: deleted "
                    "inode referenced: 13\n"),
              "error: EXT4-fs error (device pmem0): ext4_lookup:#: inode ##: comm fencepost-serve: "
              "deleted inode "
              "referenced: #");
    EXPECT_EQ(alarm("1,400,1,-;XFS (pmem0): Metadata corruption detected at "
                    "xfs_agi_verify+0x12a/0x190 [xfs], xfs_agi block 0x2\n"),
              "error: XFS (pmem0): Metadata corruption detected at xfs_agi_verify+#/# [xfs], "
              "xfs_agi block #");
    EXPECT_EQ(
        alarm("4,400,1,-;WARNING: CPU: 0 PID: 57 at fs/dax.c:412 dax_insert_entry+0x2aa/0x2b0\n"),
        "warning: WARNING: CPU: # PID: # at fs/dax.c:# dax_insert_entry+#/#");
    EXPECT_EQ(alarm("4,1,1,-;INFO: task fencepost-serve:57 blocked for more than 120 seconds.\n"),
              "warning: INFO: task fencepost-serve:# blocked for more than # seconds.");
}

TEST(LogWatch, TheGravestLineWins)
{
    EXPECT_EQ(alarm("2,1,1,-;EXT4-fs error (device pmem0): x\n"
                    "1,2,1,-;BUG: kernel NULL pointer dereference, address: 0000000000000008\n"
                    "1,3,1,-;#PF: supervisor read access in kernel mode\n"
                    "4,4,1,-;Oops: 0000 [#1] PREEMPT SMP NOPTI\n"
                    "4,5,1,-;RIP: 0010:ext4_iget+0x3a/0xf00 [ext4]\n"),
              "crash: BUG: kernel NULL pointer dereference, address: # in ext4_iget");
    EXPECT_EQ(alarm("1,2,1,-;WARNING: CPU: 0 PID: 57 at a.c:1 f+0x1/0x2\n2,1,1,-;kernel BUG at "
                    "fs/jbd2/commit.c:100!\n"
                    "4,5,1,-;RIP: 0010:jbd2_journal_commit_transaction+0x3a/0xf00\n"),
              "crash: kernel BUG at fs/jbd2/commit.c:#! in jbd2_journal_commit_transaction");
    EXPECT_EQ(alarm("Kernel panic - not syncing: Fatal exception\n"),
              "crash: Kernel panic - not syncing: Fatal exception");
}

TEST(LogWatch, WhatIsMaskedIsLeftOutAndNothingElse)
{
    const std::string log = "1,1,1,-;fs: wrote 17 bytes\n3,2,1,-;fs: inode 5 is wrong\n"
                            "1,3,1,-;fs: wrote 3 bytes\n";
    EXPECT_EQ(find_alarms(log).size(), 3u);
    EXPECT_EQ(find_alarm(log)->summary, "fs: wrote # bytes");
    EXPECT_EQ(find_alarm(log, {"fs: wrote # bytes"})->summary, "fs: inode # is wrong");
    EXPECT_FALSE(find_alarm(log, {"fs: wrote # bytes", "fs: inode # is wrong"}));
    EXPECT_TRUE(find_alarm("4,1,1,-;Oops: 0002 [#1]\n", {"Oops: # [##]"}))
        << "a crash is never healthy";
}

TEST(LogWatch, SuppressedRecordsAreNoticed)
{
    EXPECT_TRUE(guest::left_records_out("4,1,1,-;fs_error: 12 callbacks suppressed\n"));
    EXPECT_FALSE(guest::left_records_out("6,1,1,-;fs: mounted\n"));
}

TEST(LogWatch, ALineThatSaysNothingAloneTakesTheNextOne)
{
    EXPECT_EQ(alarm("2,1,1,-;nova error: \n4,2,1,-;inode 7 has no log\n6,3,1,-;unrelated\n"),
              "error: nova error: inode # has no log");
    EXPECT_EQ(alarm("2,1,1,-;nova error: no log\n4,2,1,-;unrelated\n"),
              "error: nova error: no log");
    EXPECT_EQ(alarm("2,1,1,-;nova error: \n"), "error: nova error: ") << "there is no next one";
}

TEST(LogWatch, NeighboursOfALine)
{
    const std::string log = "6,1,1,-;a\n6,2,1,-;b\n6,3,1,-;c\n2,4,1,-;nova error: \n4,5,1,-;bad 1\n"
                            "6,6,1,-;e\n6,7,1,-;f\n6,8,1,-;g\n6,9,1,-;h\n6,10,1,-;i\n";
    EXPECT_EQ(neighbours_of(log, "nova error: bad 1"),
              (std::vector<std::string>{"b", "c", "nova error: ", "bad 1", "e", "f", "g", "h"}));
    EXPECT_TRUE(neighbours_of(log, "nova error: bad 2").empty());
}

TEST(LogWatch, NumbersGoAndWordsStay)
{
    EXPECT_EQ(without_numbers(
                  "ext4 in pmem0, JBD2, 12 of 0xffff888003c5e000, ffff888003c5e000 deadbeef dead"),
              "ext4 in pmem0, JBD2, # of #, # deadbeef dead");
    EXPECT_EQ(without_numbers(""), "");
    EXPECT_EQ(without_numbers("block 1ad6, tx t17 of ino42, 0x1f; 8e3e 594e 7"),
              "block #, tx t# of ino#, #; # # #");
    EXPECT_EQ(without_numbers("ext4_lookup:1853 jbd2_journal_stop+0x2aa/0x2b0 crc32c le32 e2fsck"),
              "ext4_lookup:# jbd2_journal_stop+#/# crc32c le32 e2fsck");
    EXPECT_EQ(without_numbers("do_syscall_64 at node16b, 26s"), "do_syscall_# at node#b, #s");
}

// Two bytes in hexadecimal are "dead" now and then.
TEST(LogWatch, AMaskCoversNumbersThatLookLikeWords)
{
    const MaskedLines healthy = {mask_key("fs error: checked block #")};
    EXPECT_FALSE(find_alarm("6,1,1,-;fs error: checked block dead\n", healthy));
    EXPECT_FALSE(find_alarm("6,1,1,-;fs error: checked block 1ad6\n", healthy));
    EXPECT_TRUE(find_alarm("6,1,1,-;fs error: checked block zero\n", healthy));
    EXPECT_TRUE(find_alarm("6,1,1,-;fs error: lost block 1ad6\n", healthy));
    EXPECT_EQ(mask_key("fs error: checked block feed"), mask_key("fs error: checked block #"));
}

} // namespace
} // namespace fencepost::oracle
