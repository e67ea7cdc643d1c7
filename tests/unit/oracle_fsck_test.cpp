// SPDX-License-Identifier: GPL-2.0-or-later
// The oracles ext4 and xfs: a healthy image passes, one that was damaged is caught, in ten ways and
// more.
#include <fstream>

#include <gtest/gtest.h>

#include "base/files.h"
#include "replayer/guest/pm_file.h"
#include "replayer/oracle/host_oracle.h"

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
        const auto evidence = ask_program(find_oracle(name), phase, part, directory_.path());
        if (!evidence)
            return "pass";
        EXPECT_FALSE(evidence->summary.empty());
        EXPECT_FALSE(evidence->details["output"].get<std::string>().empty());
        return to_string(evidence->verdict);
    }

    void fresh_copy()
    {
        fs::remove(damaged_);
        copy_sparse(healthy_, damaged_);
    }

    TemporaryDirectory directory_{"/tmp", "fp-fsck-"};
    fs::path healthy_ = directory_.path() / "healthy";
    fs::path damaged_ = directory_.path() / "damaged";
};

TEST_F(Fsck, Ext4)
{
    make_tree(directory_.path() / "tree");
    std::ofstream(healthy_).close();
    fs::resize_file(healthy_, 34 << 20);
    ASSERT_TRUE(run_command({program("mkfs.ext4"), "-q", "-F", "-b", "4096", "-E",
                             "offset=2097152,lazy_itable_init=0", "-d",
                             (directory_.path() / "tree").string(), healthy_.string(), "32M"})
                    .success());
    fresh_copy();
    EXPECT_EQ(answer("ext4", Phase::before), "pass");
    EXPECT_EQ(answer("ext4", Phase::after), "pass");
    for (const char *damage :
         {"sif a links_count 5", "clri a", "freei a", "setb 7000", "seti <2000>", "sif a size 10",
          "unlink a", "sif d links_count 7", "sif a blocks 999", "ln a d/again",
          "sif d/e mode 0100644", "clri d/e", "sif s size 900"}) {
        fresh_copy();
        ASSERT_TRUE(run_command({program("debugfs"), "-w", "-R", damage,
                                 damaged_.string() + "?offset=2097152"})
                        .success());
        EXPECT_EQ(answer("ext4", Phase::before), "inconsistent") << damage;
        EXPECT_EQ(answer("ext4", Phase::after), "inconsistent") << damage;
    }
    // No superblock, nothing to recover.
    fresh_copy();
    std::fstream(damaged_).seekp(kOffset + 1024).write(std::string(1024, '\0').data(), 1024);
    std::fstream(damaged_)
        .seekp(kOffset + (128 << 20) / 4)
        .write(std::string(4096, '\0').data(), 4096);
    EXPECT_EQ(answer("ext4", Phase::before), "recovery_failed");
}

// What e2fsck -p does by itself as part of recovery is no damage: a file that was open when power
// failed.
TEST_F(Fsck, Ext4ReleasesOrphans)
{
    std::ofstream(healthy_).close();
    fs::resize_file(healthy_, 34 << 20);
    make_tree(directory_.path() / "tree");
    ASSERT_TRUE(run_command({program("mkfs.ext4"), "-q", "-F", "-b", "4096", "-E", "offset=2097152",
                             "-d", (directory_.path() / "tree").string(), healthy_.string(), "32M"})
                    .success());
    fresh_copy();
    for (const char *step :
         {"sif a links_count 0", "unlink a", "sif <12> dtime 0", "ssv last_orphan 12"})
        run_command({program("debugfs"), "-w", "-R", step, damaged_.string() + "?offset=2097152"});
    EXPECT_EQ(answer("ext4", Phase::before), "pass");
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

} // namespace
} // namespace fencepost::oracle
