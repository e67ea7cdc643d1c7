// SPDX-License-Identifier: GPL-2.0-or-later
// reproduce.sh, with a QEMU that only writes a console: what it makes of what a guest says.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/child_process.h"
#include "base/files.h"
#include "guest-images/agent/standalone.h"
#include "guest-images/agent/tree_digest.h"
#include "replayer/test/reproduce_script.h"

namespace fencepost::test {
namespace {

using nlohmann::json;
using oracle::Details;
using oracle::Judgement;
using oracle::Verdict;

Judgement failure(const std::string &oracle, Verdict verdict, const std::string &summary,
                  const json &details = json::object(), const std::string &title = "")
{
    Judgement judgement;
    add_evidence(judgement, {oracle, verdict, summary, Details(details), title});
    return judgement;
}

class ReproduceScriptTest : public testing::Test {
protected:
    // Exit status of the script for a guest that says these lines.
    int ran(const Judgement &judgement, const std::string &console)
    {
        const std::filesystem::path folder = directory_.path();
        write_file(folder / "reproduce.sh", reproduce_script(inputs_, {}, judgement));
        for (const char *each : {"kernel", "initrd", "pm0.img"})
            write_file(folder / each, "");
        write_file(folder / "qemu",
                   "#!/bin/sh\ncp \"" + (folder / "said").string() + "\" console.log\n");
        std::filesystem::permissions(folder / "qemu", std::filesystem::perms::owner_all);
        write_file(folder / "said", console);
        const CommandResult result = run_command(
            {"/bin/sh", (folder / "reproduce.sh").string()},
            {.deadline = Deadline::after(std::chrono::seconds(60)),
             .environment = {{"QEMU", (folder / "qemu").string()}, {"TMPDIR", folder.string()}}});
        said_ = result.output + result.errors;
        return result.end.by_signal ? -1 : result.end.code;
    }
    static std::string whole(const std::string &lines)
    {
        return "fencepost: step: mount\r\n" + lines + "fencepost: the end\r\n";
    }

    const TemporaryDirectory directory_{"/tmp", "fp-script-"};
    run::Inputs inputs_;
    std::string said_;
};

TEST_F(ReproduceScriptTest, ACommandFailsAgainOrNot)
{
    const Judgement lost =
        failure("program", Verdict::inconsistent,
                "the recovery command ended with status 1: it's record # of 'a' $(x) that is lost");
    EXPECT_EQ(ran(lost, whole("fencepost: the recovery command ended with status 1: it's record 7 "
                              "of 'a' $(x) that is lost\r\n")),
              1)
        << said_;
    EXPECT_EQ(ran(lost, whole("fencepost: the recovery command ended with status 1: other\r\n")), 0)
        << said_;
    EXPECT_EQ(ran(lost, whole("fencepost: the recovery command ended with status 0\r\n")), 0);
    EXPECT_EQ(said_, "reproduce.sh: it does not fail this time\n");
}

TEST_F(ReproduceScriptTest, AGuestThatSaysNothingIsTrouble)
{
    const Judgement lost = failure("program", Verdict::inconsistent, "wrong");
    EXPECT_EQ(ran(lost, ""), 4);
    EXPECT_EQ(ran(lost, "[    0.1] Kernel panic - not syncing\r\n"), 4) << said_;
    EXPECT_EQ(ran(lost, "fencepost: step: mount\r\n"), 4) << "it did not come to its end";
}

TEST_F(ReproduceScriptTest, ACrashNeedsItsLineAndItsFunction)
{
    const Judgement crash =
        failure("mount", Verdict::guest_crash, "BUG: kernel NULL pointer dereference in replay",
                {{"line", "1,360,5520,-;BUG: kernel NULL pointer dereference, address: 00000018"},
                 {"function", "replay"}});
    const std::string bug = "[    5.1] BUG: kernel NULL pointer dereference, address: 00000020\r\n";
    EXPECT_EQ(ran(crash, whole(bug + "[    5.2] RIP: 0010:replay+0x12/0x30 [fs]\r\n")), 1) << said_;
    EXPECT_EQ(ran(crash, whole(bug + "[    5.2] RIP: 0010:other+0x12/0x30 [fs]\r\n")), 0) << said_;
    EXPECT_EQ(ran(crash, "fencepost: step: mount\r\n" + bug), 4) << said_;
}

TEST_F(ReproduceScriptTest, MountTrialAndLeakHaveTheirLines)
{
    const std::string words = "mount /dev/pmem0 on /mnt/pm as ext4: Structure needs cleaning";
    EXPECT_EQ(ran(failure("mount", Verdict::recovery_failed, words, {{"error_number", 117}}),
                  whole("fencepost: " + words + "\r\n")),
              1);
    EXPECT_EQ(ran(failure("mount", Verdict::inconsistent, "EXT4-fs error (device pmem0): inode #"),
                  whole("fencepost: log: EXT4-fs error (device pmem0): inode 12 is bad\r\n")),
              1);
    EXPECT_EQ(ran(failure("usable", Verdict::inconsistent, "append: a: Input/output error"),
                  whole("fencepost: append: a: Input/output error\r\n")),
              1);
    const Judgement leak = failure("usable", Verdict::inconsistent, "leak: blocks stay in use",
                                   {{"used_blocks", 9}, {"used_inodes", 11}});
    EXPECT_EQ(ran(leak, whole("fencepost: " + agent::space_line({9, 11}) + "\r\n")), 1);
    EXPECT_EQ(ran(leak, whole("fencepost: " + agent::space_line({8, 11}) + "\r\n")), 0);
}

TEST_F(ReproduceScriptTest, ATreeIsThatTree)
{
    Judgement wrong = failure("semantic", Verdict::inconsistent, "a name is gone");
    EXPECT_EQ(reproduce_script(inputs_, {}, wrong), "") << "no tree was looked at";
    wrong.tree.emplace();
    wrong.tree->entries.push_back({.path = "a", .inode = 5, .size = 3});
    agent::TreeDump same = *wrong.tree;
    same.entries[0].inode = 6;
    same.elapsed_usec = 7;
    EXPECT_EQ(ran(wrong, whole("fencepost: " + agent::tree_line(same) + "\r\n")), 1);
    same.entries[0].size = 4;
    EXPECT_EQ(ran(wrong, whole("fencepost: " + agent::tree_line(same) + "\r\n")), 0);
}

TEST_F(ReproduceScriptTest, AnEndIsNoHang)
{
    const Judgement hang =
        failure("guest", Verdict::guest_hang, "mount did not end in its time; last kernel message");
    EXPECT_EQ(ran(hang, whole("")), 0) << said_;
    EXPECT_EQ(ran(hang, "fencepost: step: mount\r\n"), 4) << "QEMU ended by itself";
}

} // namespace
} // namespace fencepost::test
