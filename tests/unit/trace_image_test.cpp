// SPDX-License-Identifier: GPL-2.0-or-later
// Initial images and the completeness check, over two PM devices.
#include "trace/image.h"

#include <cstring>
#include <map>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/files.h"
#include "random_events.h"
#include "trace/replay.h"
#include "trace/writer.h"

namespace fencepost::trace {
namespace {

using Bytes = std::vector<std::byte>;

class Images : public testing::Test {
protected:
    // Sizes that are no multiple of a chunk, and a gap between the devices.
    Images()
    {
        regions_ = {
            {.id = 1, .name = "pmem0", .base = 1ull << 32, .size = (5 << 20) + 8192, .file = "a"},
            {.id = 2,
             .name = "pmem1",
             .base = (1ull << 32) + (8 << 20),
             .size = 1 << 20,
             .file = "b"}};
        for (const Region &region : regions_)
            initial_.push_back(sparse_bytes(region.size));
        final_ = initial_;
    }

    Bytes sparse_bytes(std::size_t size)
    {
        Bytes bytes(size);
        for (std::size_t page = 0; page < size; page += 4096)
            if (random_.below(20) == 0)
                for (std::size_t i = 0; i < 4096; ++i)
                    bytes[page + i] = static_cast<std::byte>(random_.below(256));
        bytes.back() = std::byte{7};
        return bytes;
    }

    // Random stores in both devices, some across the end of a line, applied to final_ as well.
    void record(bool image_from_file = false)
    {
        TraceWriter writer = TraceWriter::create(path());
        for (std::size_t i = 0; i < regions_.size(); ++i) {
            writer.put_region(regions_[i]);
            if (image_from_file)
                writer.put_initial_image(regions_[i], make_file(i));
            else
                writer.put_initial_image(regions_[i], initial_[i]);
        }
        EventBuffer buffer(100000);
        for (int i = 0; i < 100000; ++i) {
            PlainEvent made = random_.next();
            if (!made.event.is_store()) {
                push(buffer, made);
                continue;
            }
            const std::size_t device = random_.below(2);
            const std::uint64_t offset = random_.below(regions_[device].size - made.event.size + 1);
            made.event.address = regions_[device].base + offset;
            std::memcpy(final_[device].data() + offset, made.bytes.data(), made.bytes.size());
            push(buffer, made);
        }
        writer.append(buffer);
        writer.finish(RecordingState::complete, "");
    }

    std::filesystem::path make_file(std::size_t device)
    {
        const std::filesystem::path file = directory_.path() / regions_[device].file;
        regions_[device].file_offset = 12288;
        const Fd fd = open_file(file, O_WRONLY | O_CREAT | O_TRUNC);
        const Bytes &bytes = initial_[device];
        EXPECT_EQ(ftruncate(fd.get(), static_cast<off_t>(12288 + bytes.size())), 0);
        for (std::size_t page = 0; page < bytes.size(); page += 4096)
            if (std::any_of(&bytes[page], &bytes[page] + 4096,
                            [](std::byte byte) { return byte != std::byte{0}; })) {
                EXPECT_EQ(pwrite(fd.get(), &bytes[page], 4096, static_cast<off_t>(12288 + page)),
                          4096);
            }
        return file;
    }

    std::vector<RegionImage> loaded(const TraceReader &reader)
    {
        std::vector<RegionImage> images;
        rooms_.clear();
        for (const Region &region : reader.regions())
            rooms_.emplace_back(region.size);
        for (std::size_t i = 0; i < rooms_.size(); ++i) {
            images.push_back({reader.regions()[i], rooms_[i]});
            reader.load_initial_image(images[i].region, images[i].bytes);
        }
        return images;
    }

    std::vector<std::span<const std::byte>> actual() const { return {final_[0], final_[1]}; }
    std::filesystem::path path() const { return directory_.path() / "trace.db"; }

    TemporaryDirectory directory_{testing::TempDir(), "images"};
    RandomEvents random_{4};
    std::vector<Region> regions_;
    std::vector<Bytes> initial_;
    std::vector<Bytes> final_;
    std::vector<Bytes> rooms_;
};

TEST_F(Images, InitialImageComesBack)
{
    for (const bool from_file : {false, true}) {
        record(from_file);
        const TraceReader reader(path());
        const std::vector<RegionImage> images = loaded(reader);
        for (std::size_t i = 0; i < images.size(); ++i) {
            EXPECT_TRUE(rooms_[i] == initial_[i]);
            EXPECT_EQ(images[i].region.initial_digest, image_digest(initial_[i]));
        }
    }
    EXPECT_EQ(image_digest(regions_[0], directory_.path() / "a"), image_digest(initial_[0]));
    EXPECT_NE(image_digest(initial_[0]), image_digest(final_[0]));
    EXPECT_NE(image_digest(Bytes(4096)), image_digest(Bytes(8192)));
}

TEST_F(Images, ReplayGivesTheFinalBytes)
{
    record();
    const TraceReader reader(path());
    const std::vector<RegionImage> images = loaded(reader);
    EXPECT_FALSE(compare_images(reader, images, actual()).equal());
    const ReplayCounts counts = replay_onto(reader, images);
    EXPECT_GT(counts.stores, 10000u);
    EXPECT_EQ(counts.outside, 0u);
    EXPECT_TRUE(compare_images(reader, images, actual()).equal());
}

TEST_F(Images, AMissedStoreIsShownWithTheLastWriter)
{
    record();
    const TraceReader reader(path());
    // Both lines of the last stores to the second device, and who wrote them last.
    std::map<std::uint64_t, LastWriter> expected;
    const std::uint64_t late = reader.event_count() - 500;
    reader.scan().for_each([&](std::uint64_t seq, const Event &event, auto) {
        if (event.is_store() && regions_[1].contains(event.address) && seq >= late)
            expected[event.first_line()] = expected[event.last_line()] = {seq, event.site};
    });
    ASSERT_GT(expected.size(), 30u);
    // As if a device had written there behind the tracer's back.
    for (const auto &[line, writer] : expected)
        final_[1][line * kLineBytes - regions_[1].base + 5] ^= std::byte{0x80};

    const std::vector<RegionImage> images = loaded(reader);
    replay_onto(reader, images);
    const Comparison comparison = compare_images(reader, images, actual(), 1000);
    EXPECT_EQ(comparison.differing_lines, expected.size());
    ASSERT_EQ(comparison.first.size(), expected.size());
    auto next = expected.begin();
    for (const LineDifference &difference : comparison.first) {
        EXPECT_EQ(difference.region, 2u);
        EXPECT_EQ(difference.line, next->first);
        EXPECT_EQ(difference.offset, next->first * kLineBytes - regions_[1].base);
        EXPECT_EQ(difference.actual[5] ^ difference.replayed[5], std::byte{0x80});
        ASSERT_TRUE(difference.last_writer);
        EXPECT_EQ(difference.last_writer->seq, next->second.seq);
        EXPECT_EQ(difference.last_writer->site, next->second.site);
        ++next;
    }
}

TEST_F(Images, ALineThatNothingWroteHasNoLastWriter)
{
    TraceWriter writer = TraceWriter::create(path());
    writer.put_region(regions_[1]);
    writer.finish(RecordingState::complete, "");
    const TraceReader reader(path());
    Bytes changed(regions_[1].size);
    changed[100] = std::byte{1};
    const std::span<const std::byte> actual_bytes[] = {changed};
    const Comparison comparison = compare_images(reader, loaded(reader), actual_bytes);
    ASSERT_EQ(comparison.first.size(), 1u);
    EXPECT_FALSE(comparison.first[0].last_writer);
}

TEST_F(Images, ListsAsManyDifferencesAsAskedAndCountsAll)
{
    record();
    const TraceReader reader(path());
    const std::vector<RegionImage> images = loaded(reader);
    replay_onto(reader, images);
    for (std::size_t line = 0; line < 100; ++line)
        final_[0][line * 640] ^= std::byte{1};
    const Comparison comparison = compare_images(reader, images, actual(), 3);
    EXPECT_EQ(comparison.differing_lines, 100u);
    EXPECT_EQ(comparison.first.size(), 3u);
}

TEST_F(Images, AStoreOutsideIsCounted)
{
    TraceWriter writer = TraceWriter::create(path());
    writer.put_region(regions_[1]);
    EventBuffer buffer(3);
    const std::uint64_t value = ~0ull;
    const std::uint64_t end = regions_[1].base + regions_[1].size;
    buffer.push_store({.address = end - 8, .size = 8}, &value);
    buffer.push_store({.address = end - 4, .size = 8}, &value);
    buffer.push_store({.address = ~0ull - 3, .size = 8}, &value);
    writer.append(buffer);
    writer.finish(RecordingState::complete, "");
    const TraceReader reader(path());
    const ReplayCounts counts = replay_onto(reader, loaded(reader));
    EXPECT_EQ(counts.stores, 3u);
    EXPECT_EQ(counts.bytes, 12u);
    EXPECT_EQ(counts.outside, 2u);
}

TEST_F(Images, DamageIsAnError)
{
    record();
    for (const char *sql :
         {"UPDATE initial_image SET data = x'00'", "UPDATE initial_image SET pages = x'00'",
          "UPDATE initial_image SET offset = 1 << 40 WHERE offset = 0",
          "UPDATE initial_image SET digest = 'x'",
          "UPDATE initial_image SET pages = zeroblob(32)"}) {
        record();
        Database(path(), SQLITE_OPEN_READWRITE).execute(sql);
        try {
            loaded(TraceReader(path()));
            ADD_FAILURE() << sql;
        } catch (const Error &error) {
            EXPECT_EQ(error.kind(), ErrorKind::trace) << error.what();
        }
    }
}

} // namespace
} // namespace fencepost::trace
