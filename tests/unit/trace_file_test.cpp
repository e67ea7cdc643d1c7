// SPDX-License-Identifier: GPL-2.0-or-later
// A trace written and read back: events across blocks, filters, records, digests, memory.
#include "trace/reader.h"
#include "trace/writer.h"

#include <functional>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/files.h"
#include "random_events.h"
#include "sanitized.h"
#include "trace/amendment.h"
#include "trace/tables.h"

namespace fencepost::trace {
namespace {

class TraceFile : public testing::Test {
protected:
    std::filesystem::path path(const char *name = "trace.db") const
    {
        return directory_.path() / name;
    }

    // In buffers of `buffer_events`, with a commit now and then.
    void write(const std::vector<PlainEvent> &events, std::size_t buffer_events,
               const char *name = "trace.db", std::size_t sync_every = SIZE_MAX)
    {
        TraceWriter writer = TraceWriter::create(path(name));
        EventBuffer buffer(buffer_events);
        for (std::size_t i = 0; i < events.size(); ++i) {
            push(buffer, events[i]);
            if (buffer.full() || i + 1 == events.size()) {
                writer.append(buffer);
                buffer.clear();
            }
            if (i % sync_every == sync_every - 1)
                writer.sync();
        }
        writer.finish(RecordingState::complete, "exit status 0");
    }

    std::vector<PlainEvent> read(const EventFilter &filter = {})
    {
        std::vector<PlainEvent> events;
        seqs_.clear();
        TraceReader(path()).scan(filter).for_each(
            [&](std::uint64_t seq, const Event &event, auto wide_values) {
                events.push_back(plain(event, wide_values));
                seqs_.push_back(seq);
            });
        return events;
    }

    TemporaryDirectory directory_{testing::TempDir(), "trace"};
    std::vector<std::uint64_t> seqs_;
};

TEST_F(TraceFile, GivesBackEventsAcrossBlocks)
{
    for (const std::size_t count : {0ul, 1ul, 65535ul, 65536ul, 65537ul, 150000ul}) {
        RandomEvents random(count);
        const std::vector<PlainEvent> events = random.take(count);
        write(events, 10007);
        EXPECT_TRUE(read() == events) << count;
        for (std::size_t i = 0; i < count; ++i)
            ASSERT_EQ(seqs_[i], i);
        const TraceReader reader(path());
        EXPECT_EQ(reader.event_count(), count);
        EXPECT_EQ(reader.recording().state, RecordingState::complete);
        EXPECT_EQ(reader.recording().outcome, "exit status 0");
    }
}

TEST_F(TraceFile, FiltersLikeAFullScan)
{
    RandomEvents random(5);
    const std::vector<PlainEvent> events = random.take(200000);
    write(events, 65536, "trace.db", 30011);
    for (int round = 0; round < 150; ++round) {
        EventFilter filter;
        const PlainEvent &some = events[random.below(events.size())];
        if (random.below(2))
            filter.first_seq = random.below(events.size() + 10);
        if (random.below(2))
            filter.last_seq = filter.first_seq + random.below(events.size());
        if (random.below(2))
            filter.kinds = static_cast<std::uint8_t>(random.below(64));
        if (random.below(3) == 0)
            filter.sites = {some.event.site, static_cast<SiteId>(random.below(60))};
        if (random.below(3) == 0)
            filter.vcpus = {some.event.vcpu, 1};
        if (random.below(2)) {
            const std::uint64_t line = some.event.first_line();
            filter.lines = {LineRange{line, line + random.below(5)},
                            LineRange{line + 2, line + random.below(2000)}, LineRange{5, 1}};
        }
        std::vector<std::uint64_t> expected;
        for (std::size_t seq = 0; seq < events.size(); ++seq)
            if (passes(filter, seq, events[seq].event))
                expected.push_back(seq);
        const std::vector<PlainEvent> found = read(filter);
        ASSERT_EQ(seqs_, expected) << round;
        for (std::size_t i = 0; i < found.size(); ++i)
            ASSERT_EQ(found[i], events[expected[i]]);
    }
}

TEST_F(TraceFile, FindsTheOnlyLineOfABlock)
{
    const PlainEvent store = {{.address = 6400, .size = 4}, std::vector<std::byte>(4)};
    write({store}, 1);
    for (const auto &[range, found] :
         {std::pair(LineRange{100, 100}, 1u), std::pair(LineRange{99, 100}, 1u),
          std::pair(LineRange{100, 101}, 1u), std::pair(LineRange{0, 99}, 0u),
          std::pair(LineRange{101, UINT64_MAX}, 0u), std::pair(LineRange{}, 1u)})
        EXPECT_EQ(read({.lines = std::vector{range}}).size(), found) << range.first;
}

TEST_F(TraceFile, DigestsDependOnEventsNotOnBlocks)
{
    RandomEvents random(6);
    std::vector<PlainEvent> events = random.take(100000);
    const auto recording = [&](std::size_t buffer_events, std::size_t sync_every) {
        write(events, buffer_events, "other.db", sync_every);
        return TraceReader(path("other.db")).recording();
    };
    const Recording first = recording(65536, SIZE_MAX);
    const Recording cut = recording(777, 5000);
    EXPECT_EQ(first.event_digest, cut.event_digest);
    EXPECT_EQ(first.effect_digest, cut.effect_digest);

    std::vector<PlainEvent> more = events;
    std::swap(events[50], events[51]);
    EXPECT_NE(recording(65536, SIZE_MAX).effect_digest, first.effect_digest);

    // A second pass of the same execution, with other sites and stacks and without loads.
    events = std::move(more);
    std::erase_if(events,
                  [](const PlainEvent &each) { return each.event.kind == EventKind::load; });
    for (PlainEvent &each : events)
        each.event.site = each.event.stack = 1;
    const Recording second = recording(65536, SIZE_MAX);
    EXPECT_NE(second.event_digest, first.event_digest);
    EXPECT_EQ(second.effect_digest, first.effect_digest);

    for (PlainEvent &each : events)
        if (each.event.is_wide_store()) {
            each.bytes.back() ^= std::byte{1};
            break;
        }
    EXPECT_NE(recording(65536, SIZE_MAX).effect_digest, first.effect_digest);
}

// Long because it writes every kind of record once and reads each back.
TEST_F(TraceFile, GivesBackRecords)
{
    {
        TraceWriter writer = TraceWriter::create(path());
        writer.put_meta("spec", "name = \"x\"");
        writer.put_region({.id = 1,
                           .name = "pmem0",
                           .base = 1ull << 32,
                           .size = 1 << 20,
                           .file = "pm.img",
                           .file_offset = 4096});
        writer.leave_prepared();
    }
    {
        TraceWriter writer = TraceWriter::open_prepared(path());
        writer.put_site({.id = 1,
                         .pc = 0xffffffff81000000,
                         .module = "kernel",
                         .instruction = {std::byte{0x90}},
                         .disassembly = "nop"});
        writer.put_site({.id = 2,
                         .pc = 0x400000,
                         .privilege = Privilege::user,
                         .address_space = 0x1000,
                         .module = "prog"});
        writer.put_stack_frame({.id = 1, .pc = 0xffffffff81000010, .module = "kernel"});
        writer.put_stack({.id = 1, .parent = 0, .frame = 1});
        writer.put_stack({.id = 2, .parent = 1, .frame = 1});
        writer.put_data_quality(
            {"undecoded", 3, QualityLevel::warning, "instructions that could not be decoded"});
        writer.put_volatile_flushes(2, 17);
        EventBuffer buffer(10);
        const std::uint64_t value = 42;
        buffer.push_store({.address = 1ull << 32, .site = 1, .size = 8}, &value);
        buffer.push_marker({.kind = EventKind::marker,
                            .subkind = static_cast<std::uint8_t>(MarkerKind::syscall_enter)},
                           {.number = 1,
                            .result = -2,
                            .process = 0x5000,
                            .arguments = {1, ~0ull, 3},
                            .text = "/mnt/a"});
        buffer.push({.address = 1ull << 32, .site = 2, .kind = EventKind::flush, .subkind = 2});
        buffer.push({.site = 2, .kind = EventKind::fence});
        writer.append(buffer);
        writer.finish(RecordingState::truncated, "time limit");
    }
    TraceAmendment amendment(path());
    amendment.put_symbol({.id = 1,
                          .name = "memcpy_flushcache",
                          .module = "kernel",
                          .address = 0xffffffff80fffff0,
                          .size = 64});
    amendment.locate_site(1, {.symbol = 1, .source_file = "lib.c", .source_line = 12});
    amendment.locate_stack_frame(1, {.symbol = 1});
    amendment.put_final_digest(1, "abc");
    amendment.put_outcome("time limit of 3 s");
    amendment.commit();

    const TraceReader reader(path());
    EXPECT_EQ(reader.meta(), (std::map<std::string, std::string>{{"spec", "name = \"x\""}}));
    ASSERT_EQ(reader.regions().size(), 1u);
    EXPECT_EQ(reader.regions()[0].file_offset, 4096u);
    EXPECT_EQ(reader.regions()[0].final_digest, "abc");
    EXPECT_EQ(reader.regions()[0].initial_digest, std::nullopt);
    const std::vector<SiteRow> sites = reader.sites();
    ASSERT_EQ(sites.size(), 2u);
    EXPECT_EQ(sites[0].site.pc, 0xffffffff81000000);
    EXPECT_EQ(sites[0].location.source_line, 12u);
    EXPECT_EQ(sites[0].counts.stores, 1u);
    EXPECT_EQ(sites[1].counts.flushes, 1u);
    EXPECT_EQ(sites[1].counts.fences, 1u);
    EXPECT_EQ(sites[1].counts.volatile_flushes, 17u);
    EXPECT_EQ(sites[1].site.privilege, Privilege::user);
    EXPECT_EQ(sites[1].location.symbol, 0u);
    EXPECT_EQ(reader.symbols().at(0).name, "memcpy_flushcache");
    EXPECT_EQ(reader.stacks().at(1).parent, 1u);
    EXPECT_EQ(reader.stack_frames().at(0).location.symbol, 1u);
    EXPECT_EQ(reader.data_quality().at(0).value, 3);
    EXPECT_EQ(reader.recording().state, RecordingState::truncated);
    EXPECT_EQ(reader.recording().outcome, "time limit of 3 s");
    std::vector<MarkerRow> markers;
    reader.for_each_marker([&](const MarkerRow &row) { markers.push_back(row); });
    ASSERT_EQ(markers.size(), 1u);
    EXPECT_EQ(markers[0].seq, 1u);
    EXPECT_EQ(markers[0].kind, MarkerKind::syscall_enter);
    EXPECT_EQ(markers[0].marker, (Marker{.number = 1,
                                         .result = -2,
                                         .process = 0x5000,
                                         .arguments = {1, ~0ull, 3},
                                         .text = "/mnt/a"}));
}

TEST_F(TraceFile, IsReadableWhileItIsWritten)
{
    RandomEvents random(8);
    const std::vector<PlainEvent> events = random.take(3000);
    TraceWriter writer = TraceWriter::create(path());
    EventBuffer buffer(1000);
    for (std::size_t i = 0; i < events.size(); ++i) {
        push(buffer, events[i]);
        if (!buffer.full())
            continue;
        writer.append(buffer);
        buffer.clear();
        const std::uint64_t before = TraceReader(path()).event_count();
        EXPECT_EQ(before, i + 1 - 1000);
        const TraceReader reader(path());
        writer.sync();
        EXPECT_EQ(TraceReader(path()).event_count(), i + 1);
        // The older reader keeps to what it saw.
        std::uint64_t seen = 0;
        reader.scan().for_each([&](auto...) { ++seen; });
        EXPECT_EQ(seen, before);
    }
    EXPECT_EQ(TraceReader(path()).recording().state, RecordingState::running);
}

TEST_F(TraceFile, ReplacesAnOlderFileAndItsJournal)
{
    // What a recorder leaves that is killed with half a batch in the file.
    write({}, 1, "old.db");
    {
        Database database(path("old.db"), SQLITE_OPEN_READWRITE);
        register_tables(database.get());
        database.execute(
            "PRAGMA cache_size = 2; BEGIN; UPDATE recording SET outcome = 'rolled back'");
        Statement insert(database.get(), "INSERT INTO meta VALUES (?1, 'x')");
        for (std::uint64_t key = 0; key < 20000; ++key)
            insert.bind(1, std::string_view(std::to_string(key))).run();
        std::filesystem::copy_file(path("old.db"), path());
        std::filesystem::copy_file(path("old.db-journal"), path("trace.db-journal"));
    }
    ASSERT_GT(std::filesystem::file_size(path("trace.db-journal")), 512u);
    write(RandomEvents(1).take(5000), 1000);
    EXPECT_EQ(TraceReader(path()).event_count(), 5000u);
    EXPECT_FALSE(std::filesystem::exists(path("trace.db-journal")));
    write({}, 1);
    EXPECT_EQ(TraceReader(path()).event_count(), 0u);
    EXPECT_THROW(TraceWriter::open_prepared(path()), Error);
}

TEST_F(TraceFile, AbandonedAmendmentChangesNothing)
{
    write({}, 1);
    {
        TraceAmendment amendment(path());
        amendment.put_meta("a", "b");
    }
    EXPECT_TRUE(TraceReader(path()).meta().empty());
}

// With AddressSanitizer most of what a process holds is memory that it has freed.
#if !FENCEPOST_ASAN
// Of a process that does nothing else: what other tests have needed does not count.
long memory_peak_kib(const std::function<void()> &work)
{
    const pid_t child = fork();
    if (child == 0) {
        work();
        _exit(testing::Test::HasFailure() ? 1 : 0);
    }
    int status = -1;
    rusage used = {};
    EXPECT_EQ(wait4(child, &status, 0, &used), child);
    EXPECT_EQ(status, 0);
    return used.ru_maxrss;
}

TEST_F(TraceFile, MemoryDoesNotGrowWithTheTrace)
{
    const auto record_and_scan = [&](int buffers) {
        TraceWriter writer = TraceWriter::create(path());
        RandomEvents random(1);
        EventBuffer buffer(20000);
        for (int i = 0; i < 20000; ++i)
            push(buffer, random.next());
        for (int i = 0; i < buffers; ++i)
            writer.append(buffer);
        writer.finish(RecordingState::complete, "");
        std::uint64_t sum = 0;
        TraceReader(path()).scan().for_each(
            [&](std::uint64_t, const Event &event, auto) { sum += event.address; });
        EXPECT_GT(sum, 0u);
    };
    // Both have batches of full size. How large these get depends on how busy the machine is.
    const long small = memory_peak_kib([&] { record_and_scan(60); });
    const auto small_file = std::filesystem::file_size(path());
    const long large = memory_peak_kib([&] { record_and_scan(360); });
    EXPECT_GT(std::filesystem::file_size(path()) - small_file, 45u << 20);
    EXPECT_LT(large - small, 16 << 10);
}
#endif

} // namespace
} // namespace fencepost::trace
