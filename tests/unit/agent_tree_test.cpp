// SPDX-License-Identifier: GPL-2.0-or-later
// Trees as the agent dumps them and tries them out, on directories of the host.
#include "guest-images/agent/tree_dump.h"

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "guest-images/agent/usable.h"
#include "guest-images/agent/usable_removal.h"

namespace fencepost::agent {
namespace {

namespace fs = std::filesystem;

class AgentTree : public testing::Test {
protected:
    AgentTree()
    {
        char name[] = "/tmp/fp-tree-XXXXXX";
        root_ = mkdtemp(name);
    }
    ~AgentTree() override
    {
        std::error_code ignored;
        fs::remove_all(root_, ignored);
    }

    void write(const std::string &name, const std::string &bytes)
    {
        std::ofstream(root_ / name) << bytes;
    }
    TreeDump dump(const TreeLimits &limits = {}, std::string_view known = "")
    {
        KnownBlocks blocks(known);
        return dump_tree(root_, limits, blocks);
    }
    std::vector<UsableProblem> tried_directories(const TreeDump &tree)
    {
        TrialResult result;
        try_directories(root_, tree, result);
        return result.problems;
    }
    static const TreeEntry &entry(const TreeDump &tree, const std::string &path)
    {
        static const TreeEntry kNone;
        for (const TreeEntry &each : tree.entries)
            if (each.path == path)
                return each;
        ADD_FAILURE() << path << " is not in the dump";
        return kNone;
    }
    static std::uint64_t hash(const TreeEntry &entry, std::size_t block)
    {
        std::uint64_t value = 1;
        if (entry.block_hashes.size() >= (block + 1) * 8)
            std::memcpy(&value, entry.block_hashes.data() + block * 8, 8);
        return value;
    }

    fs::path root_;
};

TEST_F(AgentTree, HasEverythingInOrder)
{
    fs::create_directories(root_ / "d/e");
    write("d/file", "hello");
    write("b", "");
    fs::create_symlink("../b", root_ / "d/s");
    fs::create_hard_link(root_ / "d/file", root_ / "a");
    ASSERT_EQ(mkfifo((root_ / "p").c_str(), 0640), 0);
    chmod((root_ / "b").c_str(), 04711);
    const TreeDump tree = dump();
    std::vector<std::string> paths;
    for (const TreeEntry &each : tree.entries)
        paths.push_back(each.path);
    EXPECT_EQ(paths, (std::vector<std::string>{".", "a", "b", "d", "d/e", "d/file", "d/s", "p"}));
    EXPECT_EQ(entry(tree, "a").link_count, 2u);
    EXPECT_EQ(entry(tree, "a").inode, entry(tree, "d/file").inode);
    EXPECT_EQ(entry(tree, "a").block_hashes, entry(tree, "d/file").block_hashes);
    EXPECT_EQ(entry(tree, "a").size, 5u);
    EXPECT_EQ(entry(tree, "b").mode, 04711u);
    EXPECT_EQ(entry(tree, "d").type, FileType::directory);
    EXPECT_EQ(entry(tree, "d").size, 0u);
    EXPECT_EQ(entry(tree, "d/s").target, "../b");
    EXPECT_EQ(entry(tree, "p").type, FileType::fifo);
    EXPECT_FALSE(tree.truncated);
    EXPECT_EQ(dump().entries, tree.entries) << "the same tree, the same dump";
}

TEST_F(AgentTree, HashesBlocksAndSendsUnknownOnesOnce)
{
    const std::string block(kTreeBlock, 'x');
    write("a", block + block + std::string(kTreeBlock, '\0') + "tail");
    write("b", "tail" + std::string(10, '\0'));
    const TreeDump tree = dump();
    const TreeEntry &a = entry(tree, "a");
    EXPECT_EQ(a.block_hashes.size(), 4 * 8u);
    EXPECT_EQ(hash(a, 0), block_hash(block));
    EXPECT_EQ(hash(a, 1), hash(a, 0));
    EXPECT_EQ(hash(a, 2), 0u) << "zeros";
    EXPECT_EQ(hash(a, 3), hash(entry(tree, "b"), 0)) << "filled up with zeros";
    ASSERT_EQ(tree.blocks.size(), 2u);
    EXPECT_EQ(tree.blocks[0].bytes, block);
    EXPECT_EQ(tree.blocks[1].bytes, "tail" + std::string(kTreeBlock - 4, '\0'));
    const std::uint64_t known = block_hash(block);
    EXPECT_EQ(dump({}, {reinterpret_cast<const char *>(&known), 8}).blocks.size(), 1u);
}

TEST_F(AgentTree, ReadsAroundHoles)
{
    const int file = open((root_ / "sparse").c_str(), O_RDWR | O_CREAT, 0600);
    ASSERT_EQ(ftruncate(file, 10 * kTreeBlock + 100), 0);
    ASSERT_EQ(pwrite(file, "x", 1, 3 * kTreeBlock + 7), 1);
    close(file);
    const TreeDump tree = dump();
    const TreeEntry &sparse = entry(tree, "sparse");
    EXPECT_EQ(sparse.block_hashes.size(), 11 * 8u);
    EXPECT_GE(sparse.holes.size(), 1u);
    std::set<std::size_t> written;
    for (std::size_t i = 0; i < 11; ++i)
        if (hash(sparse, i) != 0)
            written.insert(i);
    EXPECT_EQ(written, std::set<std::size_t>{3});
    EXPECT_TRUE(sparse.failed_step.empty());
}

TEST_F(AgentTree, LimitsAreSaid)
{
    for (int i = 0; i < 20; ++i)
        write("file" + std::to_string(i), std::string(kTreeBlock, static_cast<char>('a' + i)));
    EXPECT_FALSE(dump().truncated);
    const TreeDump few = dump({.entries = 5});
    EXPECT_TRUE(few.truncated);
    EXPECT_EQ(few.entries.size(), 5u);
    const TreeDump unsent = dump({.blocks = 3});
    EXPECT_TRUE(unsent.truncated);
    EXPECT_EQ(unsent.blocks.size(), 3u);
    EXPECT_FALSE(dump({.blocks = 0}).truncated) << "none were asked for";
    const TreeDump unread = dump({.content_bytes = 2 * kTreeBlock});
    EXPECT_TRUE(unread.truncated);
    EXPECT_TRUE(entry(unread, "file9").contents_left_out);
    EXPECT_TRUE(entry(unread, "file9").block_hashes.empty());
}

TEST_F(AgentTree, WhatCannotBeLookedAtIsSaid)
{
    const TreeDump none = [] {
        KnownBlocks blocks("");
        return dump_tree("/nonexistent/place", {}, blocks);
    }();
    ASSERT_EQ(none.entries.size(), 1u);
    EXPECT_EQ(none.entries[0].failed_step, "stat");
    EXPECT_EQ(none.entries[0].error_number, ENOENT);
}

TEST_F(AgentTree, AHealthyTreeIsUsableAndStaysAsItIs)
{
    fs::create_directories(root_ / "d/e");
    write("d/x", "y");
    const TreeDump before = dump();
    EXPECT_TRUE(tried_directories(before).empty());
    EXPECT_EQ(dump().entries, before.entries);
}

TEST_F(AgentTree, WhatCannotBeDoneInADirectoryIsSaid)
{
    fs::create_directories(root_ / "d/e");
    const TreeDump tree = dump();
    // In the way of the first step, of a later one, and of all of them.
    write(".fencepost-usable", "");
    fs::create_directory(root_ / "d/.fencepost-usable-renamed");
    fs::remove(root_ / "d/e");
    const std::vector<UsableProblem> problems = tried_directories(tree);
    ASSERT_EQ(problems.size(), 3u);
    EXPECT_EQ(problems[0], (UsableProblem{".", "create", EEXIST}));
    EXPECT_EQ(problems[1], (UsableProblem{"d", "rename", EISDIR}));
    EXPECT_EQ(problems[2], (UsableProblem{"d/e", "create", ENOENT}));
}

TEST_F(AgentTree, ANameThatCannotBeLookedAtIsNotUsable)
{
    write("a", "b");
    TreeDump tree = dump();
    ASSERT_EQ(tree.entries.size(), 2u);
    tree.entries[1].failed_step = "stat";
    tree.entries[1].error_number = EIO;
    EXPECT_EQ(tried_directories(tree), (std::vector<UsableProblem>{{"a", "stat", EIO}}));
}

// Of a write that was done in part the next one says why: here that files may not grow.
TEST_F(AgentTree, AShortWriteHasAReason)
{
    signal(SIGXFSZ, SIG_IGN);
    rlimit before;
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    const TreeDump tree = dump();
    rlimit small = before;
    small.rlim_cur = 4096;
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    const std::vector<UsableProblem> problems = tried_directories(tree);
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_EQ(problems, (std::vector<UsableProblem>{{".", "write", EFBIG}}));
}

class AgentTrial : public AgentTree {
protected:
    TrialResult tried(const TrialLimits &limits = {})
    {
        TrialResult result;
        try_files(root_, dump(), limits, result);
        return result;
    }
};

TEST_F(AgentTrial, AHealthyTreeCanBeUsedAndRemoved)
{
    fs::create_directories(root_ / "d/e");
    fs::create_directory(root_ / "lost+found");
    write("lost+found/found", "x");
    write("d/empty", "");
    write("d/short", "y");
    write("long", std::string(2 << 20, 'l'));
    fs::create_hard_link(root_ / "long", root_ / "d/link");
    fs::create_symlink("nowhere", root_ / "s");
    TrialResult result = tried();
    EXPECT_TRUE(result.problems.empty());
    EXPECT_TRUE(result.not_tried.empty());
    EXPECT_TRUE(fs::exists(root_ / "d/link")) << "put back";
    EXPECT_EQ(fs::file_size(root_ / "d/short"), (1 + 5000) / 2 + 8192u);
    EXPECT_TRUE(remove_everything(root_, result));
    EXPECT_TRUE(result.problems.empty());
    ASSERT_EQ(dump().entries.size(), 2u);
    EXPECT_EQ(dump().entries[1].path, "lost+found");
}

TEST_F(AgentTrial, WhatCannotBeDoneWithAFileIsSaid)
{
    write("a", "bytes");
    write("b", "bytes");
    fs::create_directory(root_ / ".fencepost-usable-moved"); // in the way
    write(".fencepost-usable-moved/full", "");
    const TreeDump tree = dump();
    fs::remove(root_ / "a");
    TrialResult result;
    try_files(root_, tree, {}, result);
    ASSERT_EQ(result.problems.size(), 3u);
    EXPECT_EQ(result.problems[0].operation, "rename");
    EXPECT_EQ(result.problems[1], (UsableProblem{"a", "open", ENOENT}));
    EXPECT_EQ(result.problems[2], (UsableProblem{"b", "rename", EISDIR}));
}

// ext4 keeps all attributes of a file in its inode and one block.
TEST_F(AgentTrial, AFileWithAsManyAttributesAsFitIsNotBroken)
{
    write("a", "bytes");
    int set = 0;
    for (const std::size_t size : {1000u, 100u, 10u, 1u})
        for (int i = 0;
             i < 64 && setxattr((root_ / "a").c_str(), ("user." + std::to_string(set)).c_str(),
                                std::string(size, 'x').data(), size, 0) == 0;
             ++i)
            ++set;
    if (set == 0 || set >= 4 * 64)
        GTEST_SKIP() << "attributes have no such limit in /tmp";
    const TrialResult result = tried();
    EXPECT_TRUE(result.problems.empty());
    EXPECT_EQ(
        result.not_tried,
        std::vector<std::string>{"set attribute: a file has attributes and no room for another"});
}

// Files may not grow beyond a limit: not a matter of the file system, and said.
TEST_F(AgentTrial, WhatWasNotTriedIsSaid)
{
    for (int i = 0; i < 9; ++i)
        write(std::to_string(i), "x");
    EXPECT_EQ(tried({4, 1 << 20, 5'000'000}).not_tried,
              std::vector<std::string>{"some of the names: more than 4"});
    EXPECT_EQ(tried({100, 1, 5'000'000}).not_tried,
              std::vector<std::string>{"the rest of the names: enough was read and written"});
    EXPECT_EQ(tried({100, 1 << 20, 0}).not_tried,
              std::vector<std::string>{"the rest of the names: no more time"});
    signal(SIGXFSZ, SIG_IGN);
    rlimit before;
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    rlimit small = before;
    small.rlim_cur = 4096;
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    const TrialResult limited = tried();
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_TRUE(limited.problems.empty());
    EXPECT_EQ(limited.not_tried.size(), 1u);
}

} // namespace
} // namespace fencepost::agent
