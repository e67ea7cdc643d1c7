// SPDX-License-Identifier: GPL-2.0-or-later
// Crashes as kernels tell them, in their log and on their console.
#include "replayer/guest/judged/kernel_crash.h"

#include <gtest/gtest.h>

#include "replayer/guest/judged/log_patterns.h"

namespace fencepost::guest {
namespace {

// Linux 6.1, a kernel thread of a module.
constexpr const char *kOops =
    "6,410,8000001,-;EXT4-fs (pmem0): mounted filesystem with ordered data mode.\n"
    "1,411,8100001,-;BUG: kernel NULL pointer dereference, address: 0000000000000008\n"
    "1,412,8100002,-;#PF: supervisor write access in kernel mode\n"
    "4,413,8100003,-;Oops: 0002 [#1] PREEMPT SMP NOPTI\n"
    "4,414,8100004,-;CPU: 0 PID: 71 Comm: fencefs-replay Tainted: G           OE\n"
    "4,415,8100005,-;RIP: 0010:check_places+0x23/0x60 [fencefs]\n"
    "4,416,8100006,-;RAX: 0000000000000000 RBX: ffff888003c5e000 RCX: 0000000000000000\n"
    "4,417,8100007,-;Call Trace:\n"
    "4,418,8100008,-; <TASK>\n"
    "4,419,8100009,-; ? __die_body.cold+0x1a/0x1f\n"
    "4,420,8100010,-; replay_thread+0x4c/0x90 [fencefs]\n"
    "4,421,8100011,-; kthread+0xe6/0x110\n"
    "4,422,8100012,-; ret_from_fork+0x22/0x30\n"
    "4,423,8100013,-; </TASK>\n"
    "4,424,8100014,-;---[ end trace 0000000000000000 ]---\n"
    "4,425,8100015,-;RIP: 0010:other+0x1/0x2\n";

TEST(KernelCrash, HasItsFunctionAndItsStack)
{
    const auto crash = find_kernel_crash(kOops);
    ASSERT_TRUE(crash);
    EXPECT_EQ(crash->title, "BUG: kernel NULL pointer dereference, address: # in check_places");
    EXPECT_EQ(crash->line, "BUG: kernel NULL pointer dereference, address: 0000000000000008");
    EXPECT_EQ(crash->function, "check_places");
    EXPECT_EQ(crash->stack,
              (std::vector<std::string>{"replay_thread+0x4c/0x90 [fencefs]", "kthread+0xe6/0x110",
                                        "ret_from_fork+0x22/0x30"}));
    EXPECT_TRUE(crash->complete);
}

TEST(KernelCrash, IsTheSameOnAConsole)
{
    const auto shown = find_kernel_crash(
        "[    8.100001] BUG: kernel NULL pointer dereference, address: 0000000000000010\r\n"
        "[    8.100004] RIP: 0010:check_places+0x23/0x60 [fencefs]\r\n"
        "[    8.100007] Call Trace:\r\n[    8.100008]  <TASK>\r\n"
        "[    8.100010]  replay_thread+0x4c/0x90 [fencefs]\r\n");
    ASSERT_TRUE(shown);
    EXPECT_EQ(shown->title, find_kernel_crash(kOops)->title);
    EXPECT_EQ(shown->stack, std::vector<std::string>{"replay_thread+0x4c/0x90 [fencefs]"});
    EXPECT_FALSE(shown->complete) << "the rest has yet to come";
}

TEST(KernelCrash, PanicsAndLockupsAreSome)
{
    const auto panic = find_kernel_crash(
        "[   3.1] Kernel panic - not syncing: sysrq triggered crash\n"
        "[   3.2] CPU: 0 PID: 57 Comm: sh\n[   3.3] Call Trace:\n"
        "[   3.4]  dump_stack_lvl+0x44/0x5c\n[   3.5]  panic+0x118/0x2ed\n"
        "[   3.6] RIP: 0033:0x4f2c11\n"
        "[   3.7] ---[ end Kernel panic - not syncing: sysrq triggered crash ]---\n");
    ASSERT_TRUE(panic);
    EXPECT_EQ(panic->title, "Kernel panic - not syncing: sysrq triggered crash");
    EXPECT_EQ(panic->stack.size(), 2u);
    EXPECT_TRUE(panic->complete);
    EXPECT_FALSE(find_kernel_crash("6,1,1,-;EXT4-fs (pmem0): recovery complete\n"));
}

TEST(KernelCrash, WordsOfTheKernelAlone)
{
    for (const char *line :
         {"watchdog: BUG: soft lockup - CPU#0 stuck for 26s! [fencepost-serve]",
          "BUG: unable to handle page fault for address: ffffc90000001000",
          "Oops: 0002 [#1] PREEMPT SMP NOPTI", "general protection fault: 0000 [#1] SMP",
          "general protection fault, probably for non-canonical address 0xdead000000000100: 0000",
          "Oops: general protection fault, probably for non-canonical address 0x0: 0000 [#1]",
          "[    T57] general protection fault: 0000 [#1] SMP", "divide error: 0000 [#1] SMP",
          "invalid opcode: 0000 [#1] PREEMPT SMP", "traps: PANIC: double fault, error_code: 0x0"}) {
        EXPECT_TRUE(tells_crash({line, {}, {}})) << line;
        EXPECT_TRUE(tells_crash({line, 4, {}})) << line;
        EXPECT_FALSE(tells_crash({line, 12, {}})) << "written by a process: " << line;
    }
    for (const char *line : {
             "WARNING: CPU: 0 PID: 57 at fs/dax.c:412",
             "myfs: DEBUG: journal is empty",
             "DEBUG: nothing",
             // Of processes that were killed.
             "traps: gp[57] general protection fault ip:401136 sp:7ffe5a3c error:0 in gp[401000+1]",
             "traps: div[58] trap divide error ip:401136 sp:7ffe5a3c error:0 in div[401000+1]",
             "traps: ud[59] trap invalid opcode ip:401136 sp:7ffe5a3c error:0 in ud[401000+1]",
             "show_signal_msg: 7 callbacks suppressed; general protection fault: of others",
         })
        EXPECT_FALSE(tells_crash({line, {}, {}})) << line;
    EXPECT_FALSE(find_kernel_crash("15,1,1,-;BUG: in my checker\n"));
    EXPECT_TRUE(find_kernel_crash("15,1,1,-;BUG: in my checker\n4,2,1,-;Oops: 0002 [#1]\n"));
}

TEST(KernelCrash, RecordsHaveNumbers)
{
    EXPECT_EQ(last_sequence(kOops), 425u);
    EXPECT_EQ(last_sequence("plain\n"), 0u);
    EXPECT_EQ(records_after(kOops, 424), "4,425,8100015,-;RIP: 0010:other+0x1/0x2\n");
    EXPECT_EQ(records_after(kOops, 425), "");
    EXPECT_EQ(records_after("6,1,1,-;a\n6,2,1,-;b\nof b\n", 1), "6,2,1,-;b\nof b\n");
    EXPECT_EQ(last_kernel_words("6,1,1,-;fs: replaying\n11,2,1,-;checker: of a process\n"),
              "fs: replaying");
    EXPECT_EQ(last_kernel_words(""), "");
}

} // namespace
} // namespace fencepost::guest
