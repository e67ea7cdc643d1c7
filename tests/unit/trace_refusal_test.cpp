// SPDX-License-Identifier: GPL-2.0-or-later
// What is not a trace is refused with one sentence that says what it is instead.
#include "trace/reader.h"
#include "trace/writer.h"

#include <fstream>
#include <functional>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/files.h"
#include "random_events.h"
#include "trace/tables.h"

namespace fencepost::trace {
namespace {

namespace fs = std::filesystem;

void make_trace(const fs::path &path, std::size_t events = 3000)
{
    TraceWriter writer = TraceWriter::create(path);
    RandomEvents random(2);
    EventBuffer buffer(events);
    for (std::size_t i = 0; i < events; ++i)
        push(buffer, random.next());
    writer.append(buffer);
    writer.finish(RecordingState::complete, "");
}

// Two blocks that differ in nothing but their values.
void make_store_loop(const fs::path &path)
{
    TraceWriter writer = TraceWriter::create(path);
    EventBuffer buffer(131072);
    for (std::uint64_t i = 0; i < 131072; ++i)
        buffer.push_store({.address = (1ull << 32) + i % 65536 * 8, .site = 1, .size = 8}, &i);
    writer.append(buffer);
    writer.finish(RecordingState::complete, "");
}

void alter(const fs::path &path, const char *sql)
{
    Database database(path, SQLITE_OPEN_READWRITE);
    register_tables(database.get());
    database.execute(sql);
}

// Opens and reads all of it.
void read_all(const fs::path &path)
{
    const TraceReader reader(path);
    std::uint64_t events = 0;
    reader.scan().for_each([&](auto...) { ++events; });
    EXPECT_EQ(events, reader.event_count());
    reader.regions();
    reader.sites();
    reader.data_quality();
    reader.for_each_marker([](const MarkerRow &) {});
}

struct Case {
    const char *name;
    std::function<void(const fs::path &)> make;
    const char *says;
};

const Case kCases[] = {
    {"directory", [](const fs::path &path) { fs::create_directory(path); },
     "is a directory, not a trace"},
    {"empty", [](const fs::path &path) { std::ofstream{path}; }, "is not a trace: it is empty"},
    {"device", [](const fs::path &path) { fs::create_symlink("/dev/null", path); },
     "not a regular file"},
    {"text", [](const fs::path &path) { std::ofstream(path) << std::string(5000, 'x'); },
     "it is not a SQLite file"},
    {"short", [](const fs::path &path) { std::ofstream(path) << "SQLite"; },
     "it is not a SQLite file"},
    {"foreign",
     [](const fs::path &path) {
         Database database(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
         database.execute("CREATE TABLE event_block (x)");
     },
     "the SQLite file of another program"},
    {"newer",
     [](const fs::path &path) { make_trace(path), alter(path, "PRAGMA user_version = 3"); },
     "has trace format 3, newer than format 2 of this fencepost: use a newer fencepost"},
    {"older",
     [](const fs::path &path) { make_trace(path), alter(path, "PRAGMA user_version = 1"); },
     "has trace format 1, older than format 2 of this fencepost: record it again"},
    {"truncated",
     [](const fs::path &path) { make_trace(path), fs::resize_file(path, fs::file_size(path) / 2); },
     "is truncated or damaged"},
    {"one byte short",
     [](const fs::path &path) { make_trace(path), fs::resize_file(path, fs::file_size(path) - 1); },
     "is truncated or damaged"},
    {"other columns",
     [](const fs::path &path) { make_trace(path), alter(path, "ALTER TABLE site RENAME pc TO p"); },
     "its tables are not those of trace format 2"},
    {"view for a table",
     [](const fs::path &path) {
         make_trace(path);
         alter(path, "ALTER TABLE meta RENAME TO m; CREATE VIEW meta AS SELECT * FROM m");
     },
     "its tables are not those of trace format 2"},
    {"no recording",
     [](const fs::path &path) { make_trace(path), alter(path, "DELETE FROM recording"); },
     "does not say how far the recording got"},
    {"unknown state",
     [](const fs::path &path) {
         make_trace(path), alter(path, "UPDATE recording SET state = 'x'");
     },
     "unknown word 'x'"},
    {"missing block",
     [](const fs::path &path) {
         make_trace(path, 200000);
         alter(path, "DELETE FROM event_block WHERE first_seq = 65536");
     },
     "the events from seq 65536 are missing"},
    {"missing last block",
     [](const fs::path &path) {
         make_trace(path, 200000);
         alter(path, "DELETE FROM event_block WHERE first_seq = 196608");
     },
     "it has 196608 events and claims 200000"},
    {"damaged addresses",
     [](const fs::path &path) {
         make_trace(path);
         alter(path, "UPDATE event_block SET positions = substr(positions, 1, 100) || x'ff' || "
                     "substr(positions, 102)");
     },
     "the block of events at seq 0 of "},
    {"swapped values",
     [](const fs::path &path) {
         make_store_loop(path);
         alter(path, "UPDATE event_block SET stored_values = (SELECT stored_values FROM "
                     "event_block WHERE first_seq = 0)"
                     " WHERE first_seq = 65536");
     },
     "the digest of its values does not match"},
    {"wrong types",
     [](const fs::path &path) {
         make_trace(path), alter(path, "UPDATE event_block SET shapes = 12");
     },
     "the block of events at seq 0 of "},
    {"event count",
     [](const fs::path &path) {
         make_trace(path), alter(path, "UPDATE event_block SET event_count = -1");
     },
     "it claims 18446744073709551615 events"},
    {"region",
     [](const fs::path &path) {
         make_trace(path);
         alter(path, "INSERT INTO region VALUES (1, 'pmem0', -1, -1, 'f', 0, NULL, NULL)");
     },
     "region pmem0 is beyond physical memory"},
};

TEST(Refusal, SaysInOneSentenceWhatIsWrong)
{
    for (const Case &each : kCases) {
        SCOPED_TRACE(each.name);
        const TemporaryDirectory directory(testing::TempDir(), "refusal");
        const fs::path path = directory.path() / "trace.db";
        each.make(path);
        try {
            read_all(path);
            ADD_FAILURE() << "was taken for a trace";
        } catch (const Error &error) {
            EXPECT_EQ(error.kind(), ErrorKind::trace);
            const std::string message = error.what();
            EXPECT_NE(message.find(each.says), std::string::npos) << message;
            EXPECT_NE(message.find(path.string()), std::string::npos) << message;
            EXPECT_EQ(message.find('\n'), std::string::npos) << message;
        }
    }
}

TEST(Refusal, AMissingFileIsNamed)
{
    try {
        TraceReader("/nonexistent/trace.db");
        FAIL();
    } catch (const Error &error) {
        EXPECT_EQ(error.kind(), ErrorKind::io);
        EXPECT_NE(std::string(error.what()).find("/nonexistent/trace.db"), std::string::npos);
    }
}

// Any damage to the file's bytes is an Error(trace) or harmless: no event may come out changed.
TEST(Refusal, RandomDamageNeverChangesAnEvent)
{
    const TemporaryDirectory directory(testing::TempDir(), "refusal");
    const fs::path good = directory.path() / "good.db";
    const fs::path bad = directory.path() / "bad.db";
    make_trace(good, 20000);
    RandomEvents same(2);
    const std::vector<PlainEvent> events = same.take(20000);
    RandomEvents random(13);
    int refused = 0;
    for (int round = 0; round < 300; ++round) {
        fs::copy_file(good, bad, fs::copy_options::overwrite_existing);
        std::fstream file(bad, std::ios::in | std::ios::out | std::ios::binary);
        for (std::uint64_t i = 0; i <= random.below(8); ++i) {
            file.seekp(static_cast<std::streamoff>(random.below(fs::file_size(bad))));
            file.put(static_cast<char>(random.below(256)));
        }
        file.close();
        try {
            const TraceReader reader(bad);
            ASSERT_EQ(reader.event_count(), events.size());
            reader.scan().for_each([&](std::uint64_t seq, const Event &event, auto wide_values) {
                ASSERT_EQ(plain(event, wide_values), events[seq]);
            });
        } catch (const Error &error) {
            ++refused;
            EXPECT_NE(error.kind(), ErrorKind::internal) << error.what();
        }
    }
    EXPECT_GT(refused, 100);
}

} // namespace
} // namespace fencepost::trace
