// SPDX-License-Identifier: GPL-2.0-or-later
// Flushes of pages that are not mapped yet, and what is written after the workload's end.
#include <gtest/gtest.h>

#include "qemu-plugin/absent_flushes.h"
#include "qemu-plugin/late_lines.h"

namespace fencepost::tracer {
namespace {

constexpr std::uint64_t kProcess = 0x5000;
constexpr std::uint64_t kOther = 0x9000;
constexpr std::uint64_t kMapped = 0x7f0000001000;
constexpr std::uint64_t kFrame = 0x100007000;

trace::Event flush_by(std::uint16_t vcpu, trace::FlushKind kind = trace::FlushKind::clwb)
{
    trace::Event event;
    event.kind = trace::EventKind::flush;
    event.subkind = static_cast<std::uint8_t>(kind);
    event.vcpu = vcpu;
    event.site = 7;
    return event;
}

TEST(AbsentFlushes, BecomeEventsWhenThePageAppears)
{
    AbsentFlushes flushes;
    flushes.remember(kProcess, kMapped + 0x40, flush_by(0));
    flushes.remember(kProcess, kMapped + 0x1040, flush_by(0)); // the next page
    EXPECT_TRUE(flushes.appear(kOther, kMapped, kFrame).empty())
        << "another process maps another thing there";
    const auto events = flushes.appear(kProcess, kMapped + 0x800, kFrame);
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].address, kFrame + 0x40);
    EXPECT_EQ(events[0].flush_kind(), trace::FlushKind::clwb) << "no fence has completed it";
    EXPECT_EQ(events[0].site, 7u);
    EXPECT_TRUE(flushes.appear(kProcess, kMapped, kFrame).empty()) << "once";
    EXPECT_EQ(flushes.counts().found, 1u);
    EXPECT_EQ(flushes.counts().lost, 1u);
}

TEST(AbsentFlushes, AreCompleteWhenTheirVcpuHasFencedSince)
{
    AbsentFlushes flushes;
    flushes.fence(0); // before it
    flushes.remember(kProcess, kMapped, flush_by(0));
    flushes.remember(kProcess, kMapped + 64, flush_by(1));
    flushes.fence(1);
    const auto events = flushes.appear(kProcess, kMapped, kFrame);
    ASSERT_EQ(events.size(), 2u);
    EXPECT_EQ(events[0].flush_kind(), trace::FlushKind::clwb);
    EXPECT_EQ(events[1].flush_kind(), trace::FlushKind::clflush);
}

// A flush now would cover a store that the one then did not.
TEST(AbsentFlushes, AreLeftOutWhenTheirLineWasStoredToSince)
{
    AbsentFlushes flushes;
    flushes.store(kFrame, 8); // before it
    flushes.remember(kProcess, kMapped, flush_by(0));
    flushes.remember(kProcess, kMapped + 64, flush_by(0));
    flushes.store(kFrame + 60, 2); // in the first line only
    const auto events = flushes.appear(kProcess, kMapped, kFrame);
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].address, kFrame + 64);
    EXPECT_EQ(flushes.counts().lost, 1u);
    EXPECT_EQ(flushes.counts().found, 1u);
    EXPECT_TRUE(flushes.empty());
}

TEST(AbsentFlushes, TheLatestOfALineStandsForAll)
{
    AbsentFlushes flushes;
    flushes.remember(kProcess, kMapped + 8, flush_by(0));
    flushes.store(kFrame, 8);
    flushes.remember(kProcess, kMapped + 16, flush_by(0));
    EXPECT_EQ(flushes.appear(kProcess, kMapped, kFrame).size(), 1u);
    EXPECT_EQ(flushes.counts().found, 2u);
}

TEST(AbsentFlushes, DoNotOutliveTheMapping)
{
    AbsentFlushes flushes;
    for (const std::uint64_t page : {0, 1, 2, 3})
        flushes.remember(kProcess, kMapped + page * 0x1000, flush_by(0));
    flushes.remember(kOther, kMapped, flush_by(0));
    flushes.forget(kProcess, {kMapped + 0x1000, 0x1001}); // its second byte is in the third page
    EXPECT_EQ(flushes.waiting(kProcess, kAllAddresses),
              (std::vector<std::uint64_t>{kMapped, kMapped + 0x3000}));
    EXPECT_TRUE(flushes.appear(kProcess, kMapped + 0x1000, kFrame).empty());
    EXPECT_EQ(flushes.appear(kProcess, kMapped, kFrame).size(), 1u) << "nobody unmapped it";
    flushes.forget(kProcess, kAllAddresses);
    EXPECT_FALSE(flushes.empty()) << "the other process has its own";
    EXPECT_EQ(flushes.counts().lost, 4u);
    const auto in_volatile = flushes.appear_volatile(kOther, kMapped);
    ASSERT_EQ(in_volatile.size(), 1u);
    EXPECT_EQ(in_volatile[0].last.site, 7u);
    EXPECT_TRUE(flushes.empty());
    EXPECT_EQ(flushes.counts().lost, 3u);
    EXPECT_EQ(flushes.counts().in_volatile_memory, 1u);
}

TEST(AbsentFlushes, AreLookedForInTurns)
{
    AbsentFlushes flushes;
    for (const std::uint64_t page : {0, 1, 2, 3, 4})
        flushes.remember(kProcess, kMapped + page * 0x1000, flush_by(0));
    flushes.remember(kOther, kMapped, flush_by(0));
    using Pages = std::vector<std::uint64_t>;
    EXPECT_EQ(flushes.some_waiting(kProcess, 2), (Pages{kMapped, kMapped + 0x1000}));
    EXPECT_EQ(flushes.some_waiting(kProcess, 2), (Pages{kMapped + 0x2000, kMapped + 0x3000}));
    EXPECT_EQ(flushes.some_waiting(kProcess, 2), (Pages{kMapped + 0x4000}));
    EXPECT_EQ(flushes.some_waiting(kProcess, 2), (Pages{kMapped, kMapped + 0x1000}));
    EXPECT_EQ(flushes.some_waiting(kOther, 2), (Pages{kMapped}));
    EXPECT_EQ(flushes.some_waiting(0x1000, 2), Pages{});
}

TEST(AbsentFlushes, TheSitesOfThoseThatAreLostAreKnown)
{
    AbsentFlushes flushes;
    trace::Event other = flush_by(1);
    other.site = 9;
    flushes.remember(kProcess, kMapped, flush_by(0));
    flushes.remember(kProcess, kMapped + 8, flush_by(0));
    flushes.remember(kProcess, kMapped + 0x1000, other);
    flushes.remember(kOther, kMapped, flush_by(0));
    flushes.forget(kProcess, kAllAddresses);
    const auto lost = flushes.lost(); // the other one still waits
    ASSERT_EQ(lost.size(), 2u);
    EXPECT_EQ(lost.at(7).flushes, 3u);
    EXPECT_EQ(lost.at(9).flushes, 1u);
    EXPECT_EQ(lost.at(9).last.vcpu, 1u);
}

TEST(LateLines, KeepTheLastOfEveryByte)
{
    LateLines late;
    late.put(0x100000038, "abcdefghijklmnop",
             16); // the last 8 bytes of one line, the first 8 of the next
    late.put(0x10000003f, "Z", 1);
    ASSERT_EQ(late.lines().size(), 2u);
    const trace::LateLine &first = late.lines().begin()->second;
    EXPECT_EQ(first.line, 0x100000000u / 64);
    EXPECT_EQ(first.written, 0xff00000000000000u);
    EXPECT_EQ(static_cast<char>(first.bytes[56]), 'a');
    EXPECT_EQ(static_cast<char>(first.bytes[63]), 'Z');
    EXPECT_EQ(late.lines().rbegin()->second.written, 0xffu);
}

} // namespace
} // namespace fencepost::tracer
