// SPDX-License-Identifier: GPL-2.0-or-later
// Columns `time` and `thread` of table event: what a recorder tells comes back, and traces without
// it are read as before.
#include "trace/event_moments.h"

#include <functional>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/files.h"
#include "random_events.h"
#include "trace/query.h"
#include "trace/reader.h"
#include "trace/tables.h"
#include "trace/writer.h"

namespace fencepost::trace {
namespace {

class Moments : public testing::Test {
protected:
    std::filesystem::path path(const char *name = "trace.db") const
    {
        return directory_.path() / name;
    }

    // Of `count` events; `told`: with moments.
    std::vector<EventMoment> record(std::size_t count, bool told, const char *name = "trace.db")
    {
        RandomEvents random(7);
        std::vector<EventMoment> all;
        TraceWriter writer = TraceWriter::create(path(name));
        EventBuffer buffer(1000);
        std::vector<EventMoment> moments;
        std::uint64_t time = 0;
        for (std::size_t i = 0; i < count; ++i) {
            push(buffer, random.next());
            time += random.below(3) ? random.below(100) : random.below(std::uint64_t{1} << 40);
            moments.push_back({time, static_cast<std::uint32_t>(i / 300 % 5)});
            if (!buffer.full() && i + 1 < count)
                continue;
            if (told)
                writer.append(buffer, moments);
            else
                writer.append(buffer);
            all.insert(all.end(), moments.begin(), moments.end());
            buffer.clear();
            moments.clear();
            if (random.below(20) == 0)
                writer.sync();
        }
        writer.finish(RecordingState::complete, "");
        return all;
    }

    static std::string only(const std::filesystem::path &file, const std::string &sql)
    {
        const TraceReader reader(file);
        Query query(reader, sql);
        std::string answer;
        while (query.step())
            for (int column = 0; column < query.column_count(); ++column)
                answer += std::string(query.text(column)) + "|";
        return answer;
    }

    TemporaryDirectory directory_{testing::TempDir(), "moments"};
};

TEST_F(Moments, ComeBack)
{
    const std::vector<EventMoment> expected = record(150'000, true);
    const TraceReader reader(path());
    Query query(reader, "SELECT seq, time, thread FROM event");
    for (std::size_t seq = 0; seq < expected.size(); ++seq) {
        ASSERT_TRUE(query.step());
        ASSERT_EQ(query.integer(0), static_cast<std::int64_t>(seq));
        ASSERT_EQ(query.integer(1), static_cast<std::int64_t>(expected[seq].time));
        ASSERT_EQ(query.integer(2), expected[seq].thread);
        ASSERT_EQ(query.type(2) == ValueType::null, expected[seq].thread == 0);
    }
    EXPECT_FALSE(query.step());
}

TEST_F(Moments, OfEventsThatAreAskedForOneByOne)
{
    const std::vector<EventMoment> expected = record(100'000, true);
    for (const std::size_t seq : {0ul, 1ul, 65'535ul, 65'536ul, 99'999ul})
        EXPECT_EQ(only(path(), fmt::format("SELECT time FROM event WHERE seq = {}", seq)),
                  fmt::format("{}|", expected[seq].time));
    // A join looks each event up in its block.
    std::uint64_t sum = 0;
    for (std::size_t seq = 0; seq < expected.size(); seq += 1000)
        sum += expected[seq].time;
    EXPECT_EQ(only(path(), "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1000 FROM n WHERE"
                           " i < 99000) SELECT sum(time) FROM n JOIN event ON seq = i"),
              fmt::format("{}|", sum));
}

TEST_F(Moments, WithoutThemATraceIsReadAsBefore)
{
    record(5000, false);
    EXPECT_EQ(only(path(), "SELECT count(*), count(time), count(thread) FROM event"), "5000|0|0|");
    {
        Database database(path(), SQLITE_OPEN_READWRITE); // of a fencepost that did not know them
        register_tables(database.get());
        database.execute("DROP TABLE event_moment");
    }
    EXPECT_EQ(only(path(), "SELECT count(*), count(time), count(thread) FROM event"), "5000|0|0|");
    EXPECT_EQ(only(path(), "SELECT time FROM event WHERE seq = 17"), "|");
}

TEST_F(Moments, DoNotChangeTheDigest)
{
    record(5000, true, "told.db");
    record(5000, false, "untold.db");
    EXPECT_EQ(TraceReader(path("told.db")).recording().event_digest,
              TraceReader(path("untold.db")).recording().event_digest);
}

TEST_F(Moments, DamageIsOneSentence)
{
    const char *const damages[][2] = {
        {"UPDATE event_moment SET times = x'00'", "the times from event 0 on"},
        {"UPDATE event_moment SET digest = 'x'", "they do not match their digest"},
        {"UPDATE event_moment SET event_count = 3", "times of 3 events for"},
        {"UPDATE event_moment SET threads = times, times = threads", "the times from event 0 on"},
    };
    for (const auto &[sql, sentence] : damages) {
        record(3000, true);
        Database database(path(), SQLITE_OPEN_READWRITE);
        register_tables(database.get());
        database.execute(sql);
        EXPECT_EQ(only(path(), "SELECT count(*) FROM event"), "3000|"); // nobody needs them there
        try {
            only(path(), "SELECT sum(time) FROM event");
            ADD_FAILURE() << sql;
        } catch (const Error &error) {
            EXPECT_EQ(error.kind(), ErrorKind::trace);
            EXPECT_NE(std::string(error.what()).find(sentence), std::string::npos) << error.what();
        }
    }
    record(3000, true);
    Database database(path(), SQLITE_OPEN_READWRITE);
    register_tables(database.get());
    database.execute("ALTER TABLE event_moment RENAME times TO t");
    EXPECT_THROW(TraceReader{path()}, Error);
}

} // namespace
} // namespace fencepost::trace
