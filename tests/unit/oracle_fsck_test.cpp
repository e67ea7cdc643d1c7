// SPDX-License-Identifier: GPL-2.0-or-later
// The oracles ext4 and xfs: a healthy image passes, one that was damaged is caught, in ten ways and
// more.
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "replayer/guest/pm_file.h"
#include "replayer/oracle/folder_oracle.h"

namespace fencepost::oracle {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kOffset = 2 << 20; // as in fsdax mode

std::string program(const char *name)
{
    return find_program(name).value().string();
}

// A tree of files, directories and a link, for mkfs to copy.
void make_tree(const fs::path &root)
{
    fs::create_directories(root / "d/e");
    std::ofstream(root / "a") << std::string(9000, 'x');
    std::ofstream(root / "d/b") << "hello";
    fs::create_symlink("a", root / "s");
}

class Fsck : public testing::Test {
protected:
    std::string answer(const std::string &name, Phase phase)
    {
        const PmPart part = {damaged_, kOffset, fs::file_size(damaged_) - kOffset};
        const ProgramAnswer answer = ask_program(find_folder(name), phase, part, directory_.path());
        const auto &evidence = answer.evidence;
        if (!evidence)
            return answer.not_tried.empty() ? "pass" : answer.not_tried;
        EXPECT_FALSE(evidence->details["output"].get<std::string>().empty());
        summary_ = evidence->summary;
        return to_string(evidence->verdict);
    }

    // A healthy image of a small tree.
    void make_ext4(const std::vector<std::string> &options = {})
    {
        make_tree(directory_.path() / "tree");
        std::ofstream(healthy_).close();
        fs::resize_file(healthy_, 34 << 20);
        std::vector<std::string> command = {program("mkfs.ext4"),
                                            "-q",
                                            "-F",
                                            "-b",
                                            "4096",
                                            "-E",
                                            "offset=2097152,lazy_itable_init=0",
                                            "-d",
                                            (directory_.path() / "tree").string()};
        command.insert(command.end(), options.begin(), options.end());
        command.insert(command.end(), {healthy_.string(), "32M"});
        ASSERT_TRUE(run_command(command).success());
        fresh_copy();
    }

    void change_ext4(const std::string &how)
    {
        ASSERT_TRUE(run_command({program("debugfs"), "-w", "-R", how,
                                 damaged_.string() + "?offset=2097152"})
                        .success());
    }

    void fresh_copy()
    {
        fs::remove(damaged_);
        copy_sparse(healthy_, damaged_);
    }

    std::string summary_; // of the last answer that was no pass
    TemporaryDirectory directory_{"/tmp", "fp-fsck-"};
    fs::path healthy_ = directory_.path() / "healthy";
    fs::path damaged_ = directory_.path() / "damaged";
};

TEST_F(Fsck, Ext4)
{
    make_ext4();
    EXPECT_EQ(answer("ext4", Phase::before), "pass");
    EXPECT_EQ(answer("ext4", Phase::after), "pass");
    struct Damage {
        const char *command;
        const char *words;
    };
    for (const Damage &damage :
         {Damage{"sif a links_count 5", "Inode # ref count is #, should be #."},
          Damage{"clri a", "Entry 'a' in / (#) has deleted/unused inode #."},
          Damage{"freei a", "Inode bitmap differences:  +#"},
          Damage{"setb 7000", "Block bitmap differences:  -#"},
          Damage{"seti <2000>", "Inode bitmap differences:  -#"},
          Damage{"sif a size 10", "Inode #, i_size is #, should be #."},
          Damage{"unlink a", "Unattached inode #"},
          Damage{"sif d links_count 7", "Inode # ref count is #, should be #."},
          Damage{"sif a blocks 999", "Inode #, i_blocks is #, should be #."},
          Damage{"ln a d/again", "Inode # ref count is #, should be #."},
          Damage{"sif d/e mode 0100644",
                 "Entry 'e' in /d (#) has an incorrect filetype (was #, should be #)."},
          Damage{"clri d/e", "Entry 'e' in /d (#) has deleted/unused inode #."},
          Damage{"sif s size 900", "Symlink /s (inode ##) is invalid."}}) {
        fresh_copy();
        change_ext4(damage.command);
        for (const Phase phase : {Phase::before, Phase::after}) {
            EXPECT_EQ(answer("ext4", phase), "inconsistent") << damage.command;
            EXPECT_EQ(summary_, damage.words) << damage.command;
        }
    }
    // No superblock, nothing to recover.
    fresh_copy();
    std::fstream(damaged_).seekp(kOffset + 1024).write(std::string(1024, '\0').data(), 1024);
    std::fstream(damaged_)
        .seekp(kOffset + (128 << 20) / 4)
        .write(std::string(4096, '\0').data(), 4096);
    EXPECT_EQ(answer("ext4", Phase::before), "recovery_failed");
    EXPECT_EQ(answer("ext4", Phase::after), "inconsistent");
    fresh_copy();
    std::fstream(damaged_).seekp(kOffset + 1024 + 120).write("zzzz", 4);
    EXPECT_EQ(answer("ext4", Phase::before), "recovery_failed");
    EXPECT_EQ(answer("ext4", Phase::after), "inconsistent");
}

// What e2fsck -p does by itself as part of recovery is no damage: a file that was open when power
// failed.
TEST_F(Fsck, Ext4ReleasesOrphans)
{
    make_ext4();
    for (const char *step :
         {"sif a links_count 0", "unlink a", "sif <12> dtime 0", "ssv last_orphan 12"})
        change_ext4(step);
    EXPECT_EQ(answer("ext4", Phase::before), "pass");
}

// A mount clears the flag; e2fsck -p, which has released the orphans, does not.
TEST_F(Fsck, Ext4LeavesTheFlagOfAnOrphanFileToTheMount)
{
    make_ext4({"-O", "orphan_file"});
    EXPECT_EQ(answer("ext4", Phase::before), "pass");
    change_ext4("feature orphan_present");
    EXPECT_EQ(answer("ext4", Phase::before), "pass");
    EXPECT_EQ(answer("ext4", Phase::after), "inconsistent");
    EXPECT_EQ(summary_, "Feature orphan_present is set but orphan file is clean.");
    change_ext4("sif a links_count 5");
    EXPECT_EQ(answer("ext4", Phase::before), "inconsistent");
    EXPECT_EQ(summary_, "Inode # ref count is #, should be #.");
}

TEST_F(Fsck, Ext4WithFastCommitsIsSeenAfterTheGuest)
{
    make_ext4({"-O", "fast_commit"});
    EXPECT_EQ(answer("ext4", Phase::before),
              "the image before recovery: e2fsck fails to replay fast commits that kernels replay");
    EXPECT_EQ(answer("ext4", Phase::after), "pass");
    change_ext4("sif a links_count 5");
    EXPECT_EQ(answer("ext4", Phase::after), "inconsistent");
}

TEST_F(Fsck, Xfs)
{
    make_tree(directory_.path() / "tree");
    const fs::path plain = directory_.path() / "plain";
    std::ofstream(plain).close();
    fs::resize_file(plain, 64 << 20);
    const fs::path proto = directory_.path() / "proto";
    std::ofstream(proto) << "/\n0 0\nd--755 0 0\na ---644 0 0 "
                         << (directory_.path() / "tree/a").string()
                         << "\nd d--755 0 0\nb ---644 0 0 "
                         << (directory_.path() / "tree/d/b").string() << "\n$\n$\n";
    CommandOptions small;
    small.environment = {{"TEST_DIR", "1"}, {"TEST_DEV", "1"}, {"QA_CHECK_FS", "1"}};
    ASSERT_TRUE(run_command({program("mkfs.xfs"), "-q", "-f", "-m", "reflink=0", "-p",
                             proto.string(), plain.string()},
                            small)
                    .success());
    const auto install = [&](const fs::path &file) {
        fs::remove(damaged_);
        copy_sparse(file, damaged_, kOffset);
    };
    install(plain);
    EXPECT_EQ(answer("xfs", Phase::after), "pass");
    using Damage = std::pair<const char *, const char *>;
    for (const Damage &damage :
         {Damage("inode 131", "write -d core.nlinkv2 7"), Damage("inode 131", "write core.mode 0"),
          Damage("inode 131", "write core.nblocks 9"),
          Damage("inode 128", "write -d core.nlinkv2 9"), Damage("agi 0", "write freecount 1"),
          Damage("agi 0", "write count 3"), Damage("agf 0", "write longest 1"),
          Damage("agf 0", "write btreeblks 77"), Damage("sb 0", "write fdblocks 9"),
          Damage("agi 0", "write root 9"), Damage("inode 131", "write -d core.format 7")}) {
        const fs::path broken = directory_.path() / "broken";
        fs::remove(broken);
        copy_sparse(plain, broken);
        ASSERT_TRUE(run_command({program("xfs_db"), "-x", "-c", damage.first, "-c", damage.second,
                                 broken.string()})
                        .success());
        install(broken);
        EXPECT_EQ(answer("xfs", Phase::after), "inconsistent")
            << damage.first << ": " << damage.second;
    }
}

// The scripts alone, with a checker that says and does what it is told.
class Scripts : public Fsck {
protected:
    // The exit status of the oracle when its checker says `words` and ends in that way.
    int status(const std::string &name, const char *phase, const std::string &checker,
               const std::string &words, const std::string &end, bool scratch = true)
    {
        const fs::path bin = directory_.path() / "bin";
        fs::create_directories(bin);
        // The second run of e2fsck, which only looks, is content.
        std::ofstream(bin / checker) << "#!/bin/sh\n[ \"$1 $2\" != \"-fn /image?offset=0\" ] || [ "
                                     << phase << " = after ] || exit 0\ncat <<'END'\n"
                                     << words << "\nEND\n"
                                     << end << "\n";
        fs::permissions(bin / checker, fs::perms::owner_all);
        const fs::path work = directory_.path() / (scratch ? "scratch" : "nonexistent/scratch");
        if (scratch)
            fs::create_directories(work);
        CommandOptions options;
        options.environment = {{"PATH", bin.string() + ":/usr/sbin:/usr/bin:/sbin:/bin"}};
        const CommandResult result = run_command(
            {(find_folder(name).program).string(), phase, "/image", "0", work.string()}, options);
        EXPECT_FALSE(result.end.by_signal);
        return result.end.code;
    }
};

TEST_F(Scripts, Ext4TellsTheImagesFaultFromTheHosts)
{
    struct Case {
        const char *words;
        const char *end;
        int before;
        int after;
    };
    const Case cases[] = {
        {"/image: clean, 11/8192 files, 1549/8192 blocks", "exit 0", 0, 0},
        {"/image: Inode 12, i_blocks is 24, should be 8.", "exit 4", 2, 1},
        {"/image: Inode 12, i_blocks is 24, should be 8.", "exit 12", 2, 1},
        {"e2fsck: Bad magic number in super-block while trying to open /image", "exit 8", 2, 1},
        {"e2fsck: Superblock checksum does not match superblock while trying to open /image",
         "exit 8", 2, 1},
        {"e2fsck: Cannot allocate memory while trying to open /image", "exit 8", 3, 3},
        {"Error allocating inode bitmap: Memory allocation failed", "exit 12", 3, 3},
        {"Error writing block 5 (No space left on device).  UNEXPECTED INCONSISTENCY", "exit 12", 3,
         3},
        {"e2fsck: No such file or directory while trying to open /image", "exit 8", 3, 3},
        {"e2fsck: aborted", "exit 8", 3, 3},
        {"", "exit 2", 3, 3},
        {"Usage: e2fsck", "exit 16", 3, 3},
        {"", "exit 126", 3, 3},
        {"", "exit 127", 3, 3},
        {"/image: Inode 12 is bad", "kill -9 $$", 3, 3},
    };
    for (const Case &each : cases) {
        EXPECT_EQ(status("ext4", "before", "e2fsck", each.words, each.end), each.before)
            << each.words << ": " << each.end;
        EXPECT_EQ(status("ext4", "after", "e2fsck", each.words, each.end), each.after)
            << each.words << ": " << each.end;
    }
    EXPECT_EQ(status("ext4", "before", "e2fsck", "", "exit 0", false), 3);
    EXPECT_EQ(status("ext4", "after", "e2fsck", "", "exit 0", false), 3);
    EXPECT_EQ(status("ext4", "before", "e2fsck", "/image: recovering journal", "exit 1"), 0);
    const std::string forced = "/image was not cleanly unmounted, check forced.";
    EXPECT_EQ(status("ext4", "before", "e2fsck", forced, "exit 1"), 0);
    EXPECT_EQ(status("ext4", "before", "e2fsck",
                     "e2fsck: Invalid argument while recovering journal of /image\n" + forced,
                     "exit 1"),
              1);
    EXPECT_EQ(status("ext4", "before", "e2fsck",
                     "/image contains a file system with errors, check forced.", "exit 1"),
              1);
    EXPECT_EQ(
        status("ext4", "before", "e2fsck", "/image: Inode 12 has zero dtime.  FIXED", "exit 1"), 1);
}

TEST_F(Scripts, XfsTellsTheImagesFaultFromTheHosts)
{
    const std::string begun = "Phase 1 - find and verify superblock...\n";
    const auto after = [&](const std::string &words, const char *end) {
        return status("xfs", "after", "xfs_repair", words, end);
    };
    EXPECT_EQ(after(begun, "exit 0"), 0);
    EXPECT_EQ(after(begun + "agi_count 3, counted 64 in ag 0", "exit 1"), 1);
    EXPECT_EQ(after("xfs_repair: no such device", "exit 1"), 3);
    EXPECT_EQ(after(begun + "fatal error -- couldn't allocate block map locks", "exit 1"), 3);
    EXPECT_EQ(after(begun + "fatal error -- malloc failed in blkmap_alloc (80 bytes)", "exit 1"),
              3);
    EXPECT_EQ(after(begun + "ALERT: The filesystem has valuable metadata changes in a log which is "
                            "being\nignored because the -n option was used.",
                    "exit 0"),
              1);
    EXPECT_EQ(after("", "exit 2"), 3);
    EXPECT_EQ(after(begun, "kill -9 $$"), 3);
    EXPECT_EQ(status("xfs", "after", "xfs_repair", begun, "exit 0", false), 3);
}

} // namespace
} // namespace fencepost::oracle
