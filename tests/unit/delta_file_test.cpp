// SPDX-License-Identifier: GPL-2.0-or-later
// image.delta files that somebody damaged or made up.
#include "replayer/image/delta_file.h"

#include <random>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/files.h"
#include "trace/byte_cursor.h"
#include "trace/compression.h"

namespace fencepost::image {
namespace {

using Bytes = std::vector<std::byte>;

ImageDelta example()
{
    ImageDelta delta;
    delta.state = "12345678-aea-7-n";
    delta.regions = {{.id = 1,
                      .name = "pmem0",
                      .base = 1 << 20,
                      .size = 8192,
                      .file = "pm",
                      .initial_digest = "d"},
                     {.id = 2, .name = "pmem1", .base = 1 << 22, .size = 4096, .file = "pm1"}};
    delta.identity = {3, 4};
    for (const std::uint64_t line : {(1 << 20) / 64, (1 << 20) / 64 + 127, (1 << 22) / 64 + 5}) {
        delta.lines.push_back({.line = line});
        delta.lines.back().bytes[3] = static_cast<std::byte>(line);
    }
    return delta;
}

std::string refusal(std::span<const std::byte> bytes)
{
    try {
        decode_delta(bytes);
        return "";
    } catch (const Error &error) {
        EXPECT_EQ(error.kind(), ErrorKind::trace);
        return error.what();
    }
}

TEST(DeltaFile, ComesBackWhole)
{
    const ImageDelta delta = example();
    const ImageDelta read = decode_delta(encode_delta(delta));
    EXPECT_EQ(read, delta);
    ASSERT_EQ(read.regions.size(), 2u);
    EXPECT_EQ(read.regions[0].name, "pmem0");
    EXPECT_EQ(read.regions[0].initial_digest, "d");
    EXPECT_EQ(read.regions[1].initial_digest, std::nullopt);
    EXPECT_EQ(read.regions[1].base, 1u << 22);
    ImageDelta empty;
    EXPECT_EQ(decode_delta(encode_delta(empty)), empty);
}

TEST(DeltaFile, TruncatedOrFlippedIsRefused)
{
    const Bytes whole = encode_delta(example());
    for (std::size_t size = 0; size < whole.size(); ++size)
        EXPECT_NE(refusal(std::span(whole).first(size)), "") << size;
    unsigned harmless = 0;
    for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
        Bytes flipped = whole;
        flipped[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
        // A bit that zstd does not look at may change; what comes out may not.
        if (refusal(flipped).empty()) {
            EXPECT_EQ(decode_delta(flipped), example()) << bit;
            ++harmless;
        }
    }
    EXPECT_LT(harmless, 8u);
    Bytes longer = whole;
    longer.push_back(std::byte{0});
    EXPECT_NE(refusal(longer), "");
}

TEST(DeltaFile, SaysWhatIsWrong)
{
    Bytes other = encode_delta(example());
    other[0] = std::byte{'X'};
    EXPECT_EQ(refusal(other), "it is not an image.delta");
    Bytes newer = encode_delta(example());
    newer[8] = std::byte{2};
    EXPECT_EQ(refusal(newer), "it is an image.delta of version 2, this program reads version 1");
    EXPECT_EQ(refusal({}), "it is not an image.delta");

    ImageDelta delta = example();
    std::swap(delta.lines[0], delta.lines[1]);
    EXPECT_NE(refusal(encode_delta(delta)).find("not in order"), std::string::npos);
    delta = example();
    delta.lines[2].line += 1 << 20;
    EXPECT_EQ(refusal(encode_delta(delta)), "it has a line outside of its PM regions");
    delta = example();
    std::swap(delta.regions[0], delta.regions[1]);
    EXPECT_EQ(refusal(encode_delta(delta)), "its PM regions are not in order");
    delta = example();
    delta.regions[0].size = UINT64_MAX;
    EXPECT_EQ(refusal(encode_delta(delta)), "its PM regions are not in order");
    delta = example();
    delta.state.assign(5000, 'x');
    EXPECT_EQ(refusal(encode_delta(delta)), "it holds a text of 5000 bytes");
}

// Bodies that are well compressed but not what we write.
TEST(DeltaFile, MadeUpBodies)
{
    std::mt19937_64 random(3);
    const Bytes head = encode_delta({});
    for (unsigned round = 0; round < 20000; ++round) {
        Bytes body(random() % 64);
        for (std::byte &byte : body)
            byte = static_cast<std::byte>(random() % 4 ? random() % 4 : random());
        Bytes file(head.begin(), head.begin() + 9);
        const Bytes frame = trace::Compressor(1).compress(body);
        file.insert(file.end(), frame.begin(), frame.end());
        refusal(file); // an Error or a delta, nothing else
    }
    // More lines than there can be.
    Bytes body = {std::byte{0}, std::byte{0}};
    body.resize(18);
    trace::put_varint(body, UINT64_MAX / 2);
    Bytes file(head.begin(), head.begin() + 9);
    const Bytes frame = trace::Compressor(1).compress(body);
    file.insert(file.end(), frame.begin(), frame.end());
    EXPECT_EQ(refusal(file), "it ends too early");
}

TEST(DeltaFile, NamesTheFile)
{
    const TemporaryDirectory directory(testing::TempDir(), "delta");
    const auto path = directory.path() / "image.delta";
    write_file(path, "nothing of the kind");
    try {
        read_delta(path);
        ADD_FAILURE();
    } catch (const Error &error) {
        EXPECT_EQ(error.what(), "cannot read " + path.string() + ": it is not an image.delta");
    }
}

} // namespace
} // namespace fencepost::image
