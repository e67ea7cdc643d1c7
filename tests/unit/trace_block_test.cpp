// SPDX-License-Identifier: GPL-2.0-or-later
// Blocks of events: what goes in comes out, and no damage gets through.
#include "trace/block.h"

#include <set>

#include <gtest/gtest.h>

#include "base/error.h"
#include "random_events.h"

namespace fencepost::trace {
namespace {

EncodedBlock encode(const std::vector<PlainEvent> &events)
{
    EventBuffer buffer(events.size());
    for (const PlainEvent &event : events)
        push(buffer, event);
    BlockEncoder encoder;
    EXPECT_EQ(encoder.add(buffer.events(), buffer.wide_values()),
              std::min(events.size(), kMaxBlockEvents));
    return encoder.finish();
}

void decode(BlockDecoder &decoder, const EncodedBlock &block, bool with_values = true)
{
    decoder.open_shapes(block.shapes);
    decoder.decode({.event_count = block.event_count,
                    .digest = block.digest,
                    .value_digest = block.value_digest,
                    .lines = block.lines,
                    .positions = block.positions,
                    .stored_values = block.stored_values},
                   with_values);
}

std::vector<PlainEvent> decoded(const EncodedBlock &block)
{
    BlockDecoder decoder;
    decode(decoder, block);
    std::vector<PlainEvent> events;
    for (const Event &event : decoder.events())
        events.push_back(plain(event, decoder.wide_values()));
    return events;
}

TEST(Block, GivesBackRandomEvents)
{
    for (const std::size_t count : {1ul, 2ul, 255ul, 257ul, 5000ul, kMaxBlockEvents}) {
        RandomEvents random(count);
        const std::vector<PlainEvent> events = random.take(count);
        EXPECT_TRUE(decoded(encode(events)) == events) << count;
    }
}

TEST(Block, GivesBackEverySizeAtEveryPlaceInALine)
{
    std::vector<PlainEvent> events;
    for (unsigned size = 1; size <= kMaxStoreBytes; ++size)
        for (unsigned place = 0; place < kLineBytes; ++place) {
            PlainEvent store;
            store.event.size = static_cast<std::uint8_t>(size);
            store.event.address = 64 * size + place;
            store.bytes.assign(size, static_cast<std::byte>(place ^ size));
            events.push_back(store);
        }
    EXPECT_TRUE(decoded(encode(events)) == events);
}

TEST(Block, TakesNoMoreThanFits)
{
    EventBuffer buffer(kMaxBlockEvents + 10);
    for (std::size_t i = 0; i < kMaxBlockEvents + 10; ++i)
        buffer.push({.kind = EventKind::fence});
    BlockEncoder encoder;
    EXPECT_EQ(encoder.add(buffer.events(), {}), kMaxBlockEvents);
    EXPECT_TRUE(encoder.full());
    EXPECT_EQ(encoder.finish().event_count, kMaxBlockEvents);
    EXPECT_TRUE(encoder.empty());
}

TEST(Block, RefusesAMalformedEventAsOurBug)
{
    for (const Event &event :
         {Event{.size = 0}, Event{.size = 65}, Event{.subkind = 9, .size = 8},
          Event{.kind = EventKind::fence, .size = 1}, Event{.size = 8, .flags = 128}}) {
        BlockEncoder encoder;
        EXPECT_THROW(encoder.add(std::span(&event, 1), {}), Error);
    }
}

TEST(Block, WithoutValuesTheyAreEmpty)
{
    RandomEvents random(7);
    const std::vector<PlainEvent> events = random.take(3000);
    BlockDecoder decoder;
    decode(decoder, encode(events), false);
    for (std::size_t i = 0; i < events.size(); ++i) {
        EXPECT_EQ(decoder.events()[i], events[i].event);
        if (events[i].event.is_wide_store()) {
            EXPECT_TRUE(value_of(decoder.events()[i], decoder.wide_values()).empty());
        }
    }
}

TEST(Block, LineSetIsExact)
{
    RandomEvents random(3);
    for (int round = 0; round < 50; ++round) {
        const std::vector<PlainEvent> events = random.take(400);
        const EncodedBlock block = encode(events);
        std::set<std::uint64_t> touched;
        for (const PlainEvent &each : events)
            if (each.event.has_address())
                for (std::uint64_t line = each.event.first_line(); line <= each.event.last_line();
                     ++line)
                    touched.insert(line);
        EXPECT_EQ(block.bounds.first, *touched.begin());
        EXPECT_EQ(block.bounds.last, *touched.rbegin());
        BlockDecoder decoder;
        for (int question = 0; question < 300; ++question) {
            const std::uint64_t near =
                *std::next(touched.begin(), static_cast<long>(random.below(touched.size())));
            std::vector<LineRange> ranges;
            bool expected = false;
            for (std::uint64_t i = 0, at = near - random.below(3); i <= random.below(3); ++i) {
                ranges.push_back({at, at + random.below(3)});
                expected |= touched.lower_bound(at) != touched.end() &&
                            *touched.lower_bound(at) <= ranges.back().last;
                at = ranges.back().last + 1 + random.below(100);
            }
            EXPECT_EQ(decoder.touches(block.lines, ranges), expected);
        }
    }
}

// Everything in a block is under a digest or a checksum, so every flipped bit must be noticed.
TEST(Block, EveryFlippedBitIsAnError)
{
    RandomEvents random(11);
    const EncodedBlock good = encode(random.take(300));
    for (std::vector<std::byte> EncodedBlock::*part :
         {&EncodedBlock::shapes, &EncodedBlock::lines, &EncodedBlock::positions,
          &EncodedBlock::stored_values}) {
        for (std::size_t bit = 0; bit < (good.*part).size() * 8; ++bit) {
            EncodedBlock bad = good;
            (bad.*part)[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
            // A few bits of a zstd header have no meaning; then the contents must be the same.
            try {
                EXPECT_TRUE(decoded(bad) == decoded(good)) << bit;
            } catch (const Error &error) {
                EXPECT_EQ(error.kind(), ErrorKind::trace) << error.what();
            }
        }
        for (std::size_t length = 0; length < (good.*part).size(); length += 7) {
            EncodedBlock bad = good;
            (bad.*part).resize(length);
            EXPECT_THROW(decoded(bad), Error) << length;
        }
    }
}

TEST(Block, AWrongEventCountIsAnError)
{
    RandomEvents random(12);
    const EncodedBlock good = encode(random.take(300));
    for (const std::uint32_t count : {0u, 1u, 299u, 301u, 65536u, 65537u, ~0u}) {
        EncodedBlock bad = good;
        bad.event_count = count;
        EXPECT_THROW(decoded(bad), Error) << count;
    }
}

} // namespace
} // namespace fencepost::trace
