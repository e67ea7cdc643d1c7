// SPDX-License-Identifier: GPL-2.0-or-later
// The guest's root: how it is merged, what a user's tree may do to it, and its archive byte by
// byte.
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/child_process.h"
#include "guest-images/image/cpio_writer.h"
#include "guest-images/image/extra_tree.h"
#include "guest-images/image/guest_tree.h"
#include "tests/unit/image_fixtures.h"

namespace fencepost::images {
namespace {

namespace fs = std::filesystem;

TEST(GuestTree, PathsCannotEscape)
{
    for (const char *path : {"../x", "a/../../x", "a/..", "/etc/passwd", "", ".", ".."})
        error_of(ErrorKind::usage, [&] { guest_path(path); });
    EXPECT_EQ(guest_path("./a//b/./c"), "a/b/c");
    EXPECT_EQ(guest_path("..a/b.."), "..a/b..");
}

TEST(GuestTree, UsrIsMerged)
{
    EXPECT_EQ(guest_path("sbin/mke2fs"), "usr/sbin/mke2fs");
    EXPECT_EQ(guest_path("lib64/ld.so"), "usr/lib64/ld.so");
    EXPECT_EQ(guest_path("opt/bin/x"), "opt/bin/x");
    GuestTree tree;
    tree.add("bin/sh", TreeSymlink{"busybox"});
    EXPECT_TRUE(tree.contains("usr/bin/sh"));
    EXPECT_EQ(std::get<TreeSymlink>(tree.entries().at("bin")).target, "usr/bin");
}

TEST(GuestTree, ParentsAreMadeAndKindsAreKept)
{
    GuestTree tree;
    tree.add("a/b/c", TreeFile{std::string("1")});
    EXPECT_TRUE(std::holds_alternative<TreeDirectory>(tree.entries().at("a/b")));
    tree.add("a/b/c", TreeFile{std::string("2")});
    EXPECT_EQ(std::get<std::string>(std::get<TreeFile>(tree.entries().at("a/b/c")).content), "2");
    error_of(ErrorKind::usage, [&] { tree.add("a/b/c/d", TreeFile{std::string()}); });
    error_of(ErrorKind::usage, [&] { tree.add("a/b", TreeSymlink{"/"}); });
    error_of(ErrorKind::usage, [&] { tree.add("a/b/c", TreeDirectory()); });
    tree.add("link", TreeSymlink{"/a"});
    error_of(ErrorKind::usage, [&] { tree.add("link/x", TreeFile{std::string()}); });
}

class ExtraTree : public ImageTest {
protected:
    std::string refusal()
    {
        return error_of(ErrorKind::usage, [&] {
            GuestTree tree;
            add_extra(tree, directory_.path());
        });
    }
};

TEST_F(ExtraTree, IsMergedWithLinksKept)
{
    put("opt/program", "x");
    fs::permissions(directory_.path() / "opt/program", fs::perms::owner_all);
    put("lib/data", "y");
    fs::create_directory(directory_.path() / "empty");
    fs::create_symlink("/etc/../../outside", directory_.path() / "opt/link");
    fs::create_directory_symlink("/", directory_.path() / "root-of-host");
    fs::create_symlink("usr/bin", directory_.path() / "bin");
    GuestTree tree;
    add_extra(tree, directory_.path());
    EXPECT_TRUE(std::get<TreeFile>(tree.entries().at("opt/program")).executable);
    EXPECT_FALSE(std::get<TreeFile>(tree.entries().at("usr/lib/data")).executable);
    EXPECT_EQ(std::get<TreeSymlink>(tree.entries().at("opt/link")).target, "/etc/../../outside");
    // Kept, not entered: nothing of the host comes in through a link.
    EXPECT_EQ(std::get<TreeSymlink>(tree.entries().at("root-of-host")).target, "/");
    EXPECT_FALSE(tree.contains("root-of-host/etc"));
    EXPECT_TRUE(tree.contains("empty"));
}

TEST_F(ExtraTree, RefusesWhatIsNoFile)
{
    ASSERT_EQ(mkfifo((directory_.path() / "pipe").c_str(), 0600), 0);
    EXPECT_NE(refusal().find("pipe"), std::string::npos);
}

TEST_F(ExtraTree, RefusesDeviceNodes)
{
    if (mknod((directory_.path() / "null").c_str(), S_IFCHR | 0600, makedev(1, 3)) != 0)
        GTEST_SKIP() << "making a device node needs root";
    EXPECT_NE(refusal().find("null"), std::string::npos);
}

TEST_F(ExtraTree, CannotReplaceTheAgent)
{
    put("init", "");
    EXPECT_NE(refusal().find("belongs to fencepost"), std::string::npos);
}

TEST_F(ExtraTree, CannotReplaceTheAgentsSettings)
{
    put("etc/fencepost/modules", "");
    EXPECT_NE(refusal().find("belongs to fencepost"), std::string::npos);
}

TEST_F(ExtraTree, CannotTurnADirectoryIntoALink)
{
    fs::create_symlink("elsewhere", directory_.path() / "usr");
    refusal();
}

TEST_F(ExtraTree, MustBeADirectory)
{
    GuestTree tree;
    error_of(ErrorKind::usage, [&] { add_extra(tree, put("file", "")); });
    error_of(ErrorKind::usage, [&] { add_extra(tree, directory_.path() / "none"); });
}

TEST_F(ExtraTree, TheDigestIsOfNamesKindsAndContents)
{
    const TemporaryDirectory copy(fs::temp_directory_path(), "fencepost-image-test-");
    put("a/file", "1");
    fs::copy(directory_.path(), copy.path(), fs::copy_options::recursive);
    const std::string before = extra_digest(directory_.path());
    EXPECT_EQ(before, extra_digest(copy.path()));
    put("a/file", "2");
    const std::string changed = extra_digest(directory_.path());
    EXPECT_NE(before, changed);
    fs::permissions(directory_.path() / "a/file", fs::perms::owner_all);
    const std::string executable = extra_digest(directory_.path());
    EXPECT_NE(changed, executable);
    fs::create_directory(directory_.path() / "b");
    EXPECT_NE(executable, extra_digest(directory_.path()));
}

using Cpio = ImageTest;

// What the kernel's documentation says an entry is, written out.
std::string entry(unsigned inode, unsigned mode, unsigned links, const std::string &name,
                  const std::string &content, unsigned major = 0, unsigned minor = 0)
{
    std::string text = fmt::format(
        "070701{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}{:08X}",
        inode, mode, 0, 0, links, 0, content.size(), 0, 0, major, minor, name.size() + 1, 0);
    text += name + '\0';
    text.resize((text.size() + 3) / 4 * 4, '\0');
    text += content;
    text.resize((text.size() + 3) / 4 * 4, '\0');
    return text;
}

TEST_F(Cpio, IsExactToTheByte)
{
    // One entry in plain text, so that the function above is not the only witness.
    EXPECT_EQ(entry(1, 0100644, 1, "a", "hello"), std::string("070701"
                                                              "00000001"
                                                              "000081A4"
                                                              "00000000"
                                                              "00000000"
                                                              "00000001"
                                                              "00000000"
                                                              "00000005"
                                                              "00000000"
                                                              "00000000"
                                                              "00000000"
                                                              "00000000"
                                                              "00000002"
                                                              "00000000"
                                                              "a\0hello\0\0\0",
                                                              120));
    GuestTree tree;
    tree.add("dev/console", TreeCharDevice{5, 1});
    tree.add("etc/file", TreeFile{std::string("hello")});
    tree.add("init", TreeFile{put("agent", "program!"), true});
    const fs::path archive = directory_.path() / "initrd";
    const std::uint64_t size = write_cpio(tree, archive);
    std::string expected =
        entry(1, 0120777, 1, "bin", "usr/bin") + entry(2, 040755, 2, "dev", "") +
        entry(3, 020600, 1, "dev/console", "", 5, 1) + entry(4, 040755, 2, "etc", "") +
        entry(5, 0100644, 1, "etc/file", "hello") + entry(6, 0100755, 1, "init", "program!") +
        entry(7, 0120777, 1, "lib", "usr/lib") + entry(8, 0120777, 1, "lib64", "usr/lib64") +
        entry(9, 0120777, 1, "sbin", "usr/sbin") + entry(10, 040755, 2, "usr", "") +
        entry(11, 040755, 2, "usr/bin", "") + entry(12, 040755, 2, "usr/lib", "") +
        entry(13, 040755, 2, "usr/lib64", "") + entry(14, 040755, 2, "usr/sbin", "") +
        entry(0, 0, 1, "TRAILER!!!", "");
    expected.resize((expected.size() + 511) / 512 * 512, '\0');
    EXPECT_EQ(read_file(archive), expected);
    EXPECT_EQ(size, expected.size());
}

TEST_F(Cpio, OtherProgramsReadIt)
{
    std::vector<std::string> command;
    if (find_program("cpio"))
        command = {"cpio", "-it", "--quiet", "-F"};
    else if (find_program("busybox"))
        command = {"busybox", "cpio", "-t", "-F"};
    else if (find_program("bsdtar"))
        command = {"bsdtar", "-tf"};
    else
        FAIL() << "neither cpio, busybox nor bsdtar is here: run ./setup --tests";
    GuestTree tree;
    // Around the size of the writer's buffer, where padding could go wrong.
    tree.add("big", TreeFile{std::string((1 << 20) + 1, 'x')});
    tree.add("next", TreeFile{std::string("y")});
    command.push_back((directory_.path() / "initrd").string());
    write_cpio(tree, command.back());
    const CommandResult result = run_command(command);
    EXPECT_TRUE(result.success()) << result.errors;
    std::string names;
    for (const auto &[name, ignored] : tree.entries())
        names += name + "\n";
    EXPECT_EQ(result.output, names);
}

TEST_F(Cpio, TakesNoTimesModesOrOwnersFromTheHost)
{
    const fs::path file = put("file", "x");
    GuestTree tree;
    tree.add("file", TreeFile{file});
    write_cpio(tree, directory_.path() / "first");
    fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_all);
    fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(1000));
    write_cpio(tree, directory_.path() / "second");
    EXPECT_EQ(read_file(directory_.path() / "first"), read_file(directory_.path() / "second"));
}

TEST_F(Cpio, AMissingSourceIsAnError)
{
    GuestTree tree;
    tree.add("file", TreeFile{directory_.path() / "none"});
    error_of(ErrorKind::io, [&] { write_cpio(tree, directory_.path() / "initrd"); });
}

} // namespace
} // namespace fencepost::images
