// SPDX-License-Identifier: GPL-2.0-or-later
// Debian packages without apt: its answers as text, and libraries in unpacked trees.
#include "guest-images/image/apt.h"
#include "guest-images/image/library_closure.h"
#include "tests/unit/image_fixtures.h"

namespace fencepost::images {
namespace {

namespace fs = std::filesystem;

const char *const kAnswer = "Package: e2fsprogs\n"
                            "Version: 1:1.47.0-2+b2\n"
                            "Architecture: amd64\n"
                            "Pre-Depends: libblkid1 (>= 2.36), libc6 (>= 2.34)\n"
                            "Depends: logsave, perl:any | perl-base, libstdc++6\n"
                            "Description: tools\n"
                            " Depends: not a field\n"
                            "Size: 600520\n"
                            "\n"
                            "Package: e2fsprogs\n"
                            "Version: 0.9\n"
                            "\n"
                            "Package: libc6\n"
                            "Version: 2.36\n"
                            "Architecture: amd64\n";

TEST(Apt, RecordsAreParsed)
{
    const auto records = parse_records(kAnswer);
    ASSERT_EQ(records.size(), 2u);
    const PackageRecord &record = records.at("e2fsprogs");
    EXPECT_EQ(record.version, "1:1.47.0-2+b2");
    EXPECT_EQ(record.bytes, 600520u);
    EXPECT_EQ(record.depends, (std::vector<std::string>{"libblkid1", "libc6", "logsave", "perl",
                                                        "perl-base", "libstdc++6"}));
    EXPECT_EQ(record.file_name(), "e2fsprogs_1%3a1.47.0-2+b2_amd64.deb");
    EXPECT_EQ(records.at("libc6").bytes, 0u);
}

TEST(Apt, NothingIsNoRecord)
{
    EXPECT_TRUE(parse_records("").empty());
    EXPECT_TRUE(parse_records("\n\nE: no packages found\n").empty());
}

using Libraries = ImageTest;

TEST_F(Libraries, LinksAreFollowedInsideTheTreeOnly)
{
    const fs::path tree = directory_.path() / "tree";
    put("tree/lib/real.so.1.2", "x");
    put("outside", "x");
    fs::create_symlink("real.so.1.2", tree / "lib/relative");
    fs::create_symlink("/lib/real.so.1.2", tree / "lib/absolute");
    fs::create_symlink("../../outside", tree / "lib/escape");
    fs::create_symlink("loop", tree / "lib/loop");
    EXPECT_EQ(resolve_in_tree(tree, "lib/relative"), tree / "lib/real.so.1.2");
    EXPECT_EQ(resolve_in_tree(tree, "lib/absolute"), tree / "lib/real.so.1.2");
    EXPECT_EQ(resolve_in_tree(tree, "/lib/absolute"), tree / "lib/real.so.1.2");
    EXPECT_EQ(resolve_in_tree(tree, "lib/escape"), "");
    EXPECT_EQ(resolve_in_tree(tree, "lib/loop"), "");
    EXPECT_EQ(resolve_in_tree(tree, "lib/none"), "");
    EXPECT_EQ(resolve_in_tree(tree, "lib"), "");
}

TEST_F(Libraries, WhatIsNotFoundIsNamedWithItsUser)
{
    put("tree/usr/lib/x86_64-linux-gnu/libc.so.6", "not ELF, needs nothing");
    const fs::path self = "/proc/self/exe";
    const LibraryClosure closure =
        library_closure({self}, {"libown.so.1"}, {directory_.path() / "tree"});
    EXPECT_EQ(closure.libraries.count("usr/lib/x86_64-linux-gnu/libc.so.6"), 1u);
    EXPECT_FALSE(closure.missing.contains("libc.so.6"));
    EXPECT_EQ(closure.missing.at("libstdc++.so.6"), self);
    EXPECT_TRUE(closure.missing.contains("libown.so.1"));
}

} // namespace
} // namespace fencepost::images
