// SPDX-License-Identifier: GPL-2.0-or-later
// What options may write to: new files, and by force old ones; never over a device, a link or a
// folder.
#include "base/output_file.h"

#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"

namespace fencepost {
namespace {

namespace fs = std::filesystem;

class OutputFileTest : public testing::Test {
protected:
    fs::path path(const std::string &name) const { return directory_.path() / name; }

    // What is said; empty: it was written.
    std::string refusal(const fs::path &file, Overwrite overwrite = Overwrite::no)
    {
        try {
            write_output(file, "new", overwrite);
        } catch (const Error &error) {
            EXPECT_EQ(error.kind(), ErrorKind::usage) << error.what();
            return error.what();
        }
        return "";
    }

    std::size_t files() const
    {
        return static_cast<std::size_t>(
            std::distance(fs::directory_iterator(directory_.path()), fs::directory_iterator()));
    }

    TemporaryDirectory directory_ = TemporaryDirectory(testing::TempDir(), "output");
};

TEST_F(OutputFileTest, ANewFileIsMade)
{
    EXPECT_EQ(refusal(path("a")), "");
    EXPECT_EQ(read_file(path("a")), "new");
    EXPECT_EQ(files(), 1u);
}

TEST_F(OutputFileTest, AFileThatIsThereWantsForce)
{
    write_file(path("a"), "old");
    EXPECT_EQ(refusal(path("a")), path("a").string() + " is there already; --force replaces it");
    EXPECT_EQ(read_file(path("a")), "old");
    EXPECT_EQ(refusal(path("a"), Overwrite::yes), "");
    EXPECT_EQ(read_file(path("a")), "new");
}

TEST_F(OutputFileTest, FoldersAndLinksStayWhatTheyAre)
{
    write_file(path("target"), "old");
    fs::create_directory(path("folder"));
    fs::create_symlink("target", path("link"));
    fs::create_symlink("nothing", path("broken"));
    for (const Overwrite overwrite : {Overwrite::no, Overwrite::yes}) {
        EXPECT_EQ(refusal(path("folder"), overwrite),
                  path("folder").string() + " is a folder; name a file");
        EXPECT_NE(refusal(path("link"), overwrite).find("is a symbolic link"), std::string::npos);
        EXPECT_NE(refusal(path("broken"), overwrite).find("is a symbolic link"), std::string::npos);
        EXPECT_THROW(write_output(path("none/file"), "new", overwrite), Error);
        EXPECT_NE(refusal(path("none/"), overwrite), "");
        EXPECT_NE(refusal("", overwrite), "");
        EXPECT_NE(refusal(path(std::string(2400, 'x')), overwrite).find("File name too long"),
                  std::string::npos);
    }
    EXPECT_EQ(read_file(path("target")), "old");
    EXPECT_TRUE(fs::is_symlink(path("link")));
    EXPECT_EQ(files(), 4u);
}

TEST_F(OutputFileTest, APipeIsWrittenTo)
{
    ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
    std::string seen;
    std::thread reader([&] { seen = read_file(path("pipe")); });
    EXPECT_EQ(refusal(path("pipe")), "");
    reader.join();
    EXPECT_EQ(seen, "new");
    EXPECT_TRUE(fs::is_fifo(path("pipe")));
    EXPECT_EQ(files(), 1u);
}

TEST_F(OutputFileTest, ADeviceStaysADevice)
{
    EXPECT_EQ(refusal("/dev/null"), "");
    EXPECT_EQ(refusal("/dev/null", Overwrite::yes), "");
    EXPECT_TRUE(fs::is_character_file("/dev/null"));
    EXPECT_THROW(write_output("/dev/full", "new", Overwrite::no), Error);
    // As root a node of one's own: the same as /dev/null, and in a folder where a file could be put
    // over it.
    if (mknod(path("null").c_str(), S_IFCHR | 0600, makedev(1, 3)) != 0)
        GTEST_SKIP() << "no device can be made here";
    EXPECT_EQ(refusal(path("null"), Overwrite::yes), "");
    EXPECT_TRUE(fs::is_character_file(path("null")));
    EXPECT_EQ(files(), 1u);
}

TEST_F(OutputFileTest, ABlockDeviceIsRefused)
{
    if (mknod(path("disk").c_str(), S_IFBLK | 0600, makedev(7, 200)) != 0)
        GTEST_SKIP() << "no device can be made here";
    EXPECT_NE(refusal(path("disk"), Overwrite::yes).find("is a block device"), std::string::npos);
}

TEST_F(OutputFileTest, WhatIsNotFinishedIsGone)
{
    {
        OutputFile file(path("a"), Overwrite::no);
        EXPECT_EQ(files(), 1u);
    }
    EXPECT_EQ(files(), 0u);
    OutputFile file(path("a"), Overwrite::no);
    write_file(path("a"), "meanwhile");
    EXPECT_THROW(file.finish(), Error);
    EXPECT_EQ(read_file(path("a")), "meanwhile");
}

} // namespace
} // namespace fencepost
