// SPDX-License-Identifier: GPL-2.0-or-later
// Identities of images, and the table that finds equal ones.
#include "replayer/image/image_index.h"

#include <array>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/files.h"
#include "replayer/image/line_hash.h"

namespace fencepost::image {
namespace {

TEST(LineHash, ZerosAreNothing)
{
    std::array<std::byte, 64> line = {};
    EXPECT_EQ(line_hash(7, line.data()), Hash128{});
    line[63] = std::byte{1};
    EXPECT_NE(line_hash(7, line.data()), line_hash(8, line.data()));
    const Hash128 hash = line_hash(7, line.data());
    EXPECT_EQ(hash_from_hex(hash.hex()), hash);
    EXPECT_EQ(hash_from_hex("xyz"), std::nullopt);
    for (const char wrong : {'g', 'A', '`', ' ', '/', ':'})
        EXPECT_EQ(hash_from_hex(std::string(31, '0') + wrong), std::nullopt) << wrong;
    Hash128 sum = {UINT64_MAX, 5};
    sum += {3, 1};
    EXPECT_EQ(sum, (Hash128{2, 7}));
    sum -= {3, 1};
    EXPECT_EQ(sum, (Hash128{UINT64_MAX, 5}));
}

TEST(ImageIndex, FindsEveryImageAgainBeyondItsMemory)
{
    const auto hash = [](std::uint64_t i) { return Hash128{i * 0x9e3779b97f4a7c15u, i}; };
    ImageIndex small(1);
    ImageIndex large;
    for (std::uint64_t round = 0; round < 3; ++round)
        for (std::uint64_t i = 1; i <= 5000; ++i)
            for (ImageIndex *index : {&small, &large}) {
                const auto added = index->add(hash(i), 0, {i, "n"});
                ASSERT_EQ(added.image, i);
                ASSERT_EQ(added.is_new, round == 0);
            }
    EXPECT_GT(small.spilled(), 0u);
    EXPECT_EQ(large.spilled(), 0u);
    EXPECT_EQ(small.images(), 5000u);
    EXPECT_EQ(small.origins(), 15000u);
    std::vector<std::uint64_t> seqs;
    small.for_each_origin(4321,
                          [&](const ImageIndex::Origin &origin) { seqs.push_back(origin.seq); });
    EXPECT_EQ(seqs, (std::vector<std::uint64_t>{4321, 4321, 4321}));
}

TEST(ImageIndex, GoesOnWithItsFile)
{
    const TemporaryDirectory directory(testing::TempDir(), "image_index");
    const ImageIndex::File file = {directory.path() / "images.db", "trace", "options"};
    {
        ImageIndex index(file);
        index.add({1, 1}, 0, {10, "n"});
        index.add({2, 2}, 0, {10, "a"});
        index.commit();
        index.add({3, 3}, 0, {11, "n"}); // not committed
    }
    ImageIndex index(file);
    EXPECT_EQ(index.images(), 2u);
    EXPECT_FALSE(index.add({2, 2}, 0, {20, "n"}).is_new);
    EXPECT_EQ(index.add({4, 4}, 0, {20, "a"}).image, 3u);
    EXPECT_EQ(index.add({4, 4}, 1, {20, "a"}).image, 4u) << "another thing is expected of it";
    ImageIndex::File other = file;
    other.trace = "another";
    EXPECT_THROW(ImageIndex{other}, Error);
}

TEST(ImageIndex, FilesOfOthersAreRefusedAndLeftAlone)
{
    const TemporaryDirectory directory(testing::TempDir(), "image_index");
    const std::filesystem::path text = directory.path() / "a text 100% ?kind=1#.db";
    const std::filesystem::path foreign = directory.path() / "foreign.db";
    write_file(text, "a text that somebody wrote and wants to keep");
    trace::Database(foreign, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
        .execute("CREATE TABLE t (x)");
    for (const std::filesystem::path &path : {text, foreign}) {
        const std::string before = read_file(path);
        try {
            ImageIndex({path, "trace", "options"});
            FAIL() << path;
        } catch (const Error &error) {
            EXPECT_EQ(error.kind(), ErrorKind::usage);
            EXPECT_NE(std::string(error.what())
                          .find(path.string() + " is not an index of images: it is "),
                      std::string::npos)
                << error.what();
        }
        EXPECT_EQ(read_file(path), before);
    }
}

} // namespace
} // namespace fencepost::image
