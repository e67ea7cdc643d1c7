// SPDX-License-Identifier: GPL-2.0-or-later
// A folder of somebody else: its links lead nowhere.
#include "base/folder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"

namespace fencepost {
namespace {

namespace fs = std::filesystem;

class FolderTest : public testing::Test {
protected:
    FolderTest()
    {
        fs::create_directories(inside());
        fs::create_directories(outside());
        write_file(outside() / "note", "keep");
    }
    fs::path inside() const { return directory_.path() / "inside"; }
    fs::path outside() const { return directory_.path() / "outside"; }

    TemporaryDirectory directory_ = TemporaryDirectory(testing::TempDir(), "folder");
};

TEST_F(FolderTest, WritesAndReadsItsOwn)
{
    const Folder folder(inside());
    folder.write("a", "text");
    EXPECT_EQ(folder.read("a", 4), "text");
    EXPECT_THROW(folder.read("a", 3), Error);
    folder.made_below("b").write("c", "more");
    EXPECT_EQ(read_file(inside() / "b/c"), "more");
    EXPECT_EQ(folder.names(), (std::vector<std::string>{"a", "b"}));
    EXPECT_FALSE(folder.remove_folder("b"));
    folder.below("b")->remove("c");
    EXPECT_TRUE(folder.remove_folder("b"));
    EXPECT_FALSE(folder.below("b"));
}

TEST_F(FolderTest, FollowsNoLink)
{
    const Folder folder(inside());
    fs::create_symlink(outside(), inside() / "link");
    fs::create_symlink(outside() / "note", inside() / "file");
    EXPECT_THROW(folder.below("link"), Error);
    EXPECT_THROW(folder.made_below("link"), Error);
    EXPECT_THROW(folder.read("file", 100), Error);
    folder.write("file", "new"); // in place of the link
    EXPECT_EQ(folder.kind_of("file"), Folder::Kind::file);
    folder.remove("link");
    EXPECT_EQ(read_file(outside() / "note"), "keep");
    // A link that waits under the name that is written first.
    fs::create_symlink(outside() / "note", inside() / fmt::format("x.{}.new", getpid()));
    folder.write("x", "new");
    EXPECT_EQ(read_file(outside() / "note"), "keep");
    EXPECT_EQ(folder.read("x", 100), "new");
}

TEST_F(FolderTest, StaysTheSameFolderWhenItIsMoved)
{
    const Folder folder(inside());
    fs::rename(inside(), directory_.path() / "moved");
    fs::create_symlink(outside(), inside());
    folder.write("note", "new");
    EXPECT_EQ(read_file(outside() / "note"), "keep");
    EXPECT_EQ(read_file(directory_.path() / "moved/note"), "new");
}

TEST_F(FolderTest, WaitsForNoPipeAndReadsNoGiant)
{
    const Folder folder(inside());
    ASSERT_EQ(mkfifo((inside() / "pipe").c_str(), 0600), 0);
    EXPECT_THROW(folder.read("pipe", 100), Error);
    folder.write("giant", "");
    ASSERT_EQ(truncate((inside() / "giant").c_str(), off_t{1} << 40), 0);
    EXPECT_THROW(folder.read("giant", 1 << 20), Error);
}

TEST(PlainName, IsOneNameOfAFolder)
{
    for (const char *good : {"a", "0123456789ab", "pmem0", "own.0", "A-b_c"})
        EXPECT_TRUE(is_plain_name(good)) << good;
    for (const char *bad : {"", ".", "..", ".a", "a/b", "/a", "../a", "a b", "a\nb", "\xc3\xa4"})
        EXPECT_FALSE(is_plain_name(bad)) << bad;
    EXPECT_FALSE(is_plain_name(std::string(129, 'a')));
    EXPECT_FALSE(is_plain_name(std::string_view("a\0b", 3)));
}

} // namespace
} // namespace fencepost
