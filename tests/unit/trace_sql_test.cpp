// SPDX-License-Identifier: GPL-2.0-or-later
// Table `event` and the views: the same rows as a scan, in this process, in sqlite3 and in Python.
#include "trace/tables.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/child_process.h"
#include "base/error.h"
#include "base/files.h"
#include "random_events.h"
#include "sanitized.h"
#include "trace/query.h"
#include "trace/reader.h"
#include "trace/writer.h"

namespace fencepost::trace {
namespace {

class Sql : public testing::Test {
protected:
    static void SetUpTestSuite()
    {
        directory_ = std::make_unique<TemporaryDirectory>(testing::TempDir(), "sql");
        RandomEvents random(21);
        const std::vector<PlainEvent> events = random.take(12000);
        TraceWriter writer = TraceWriter::create(path());
        EventBuffer buffer(1000);
        for (const PlainEvent &event : events) {
            push(buffer, event);
            if (buffer.full()) {
                writer.append(buffer);
                buffer.clear();
                writer.sync(); // many small blocks, so that skipping matters
            }
        }
        for (SiteId site = 1; site < 50; ++site)
            writer.put_site(
                {.id = site, .pc = 0x1000 + site, .module = "kernel", .disassembly = "mov"});
        writer.finish(RecordingState::complete, "");

        // The reference: the same rows in an ordinary table, from the reader.
        const TraceReader reader(path());
        connection_ = std::make_unique<Database>(path(), SQLITE_OPEN_READWRITE);
        // Which events end an epoch is not for the trace to know; here these do.
        register_tables(connection_->get(), [](EventScan) {
            return std::vector<std::uint64_t>{4, 5000};
        });
        connection_->execute(
            "CREATE TEMP TABLE plain (seq INTEGER, kind TEXT, subkind TEXT, vcpu INTEGER,"
            " address INTEGER, line INTEGER, last_line INTEGER, size INTEGER, number INTEGER,"
            " value BLOB, site INTEGER, stack INTEGER, atomic INTEGER); BEGIN");
        Statement insert(connection_->get(),
                         "INSERT INTO plain VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,nullif(?11,0),"
                         "nullif(?12,0),?13)");
        reader.scan().for_each([&](std::uint64_t seq, const Event &event, auto wide_values) {
            for (int parameter = 5; parameter <= 10; ++parameter)
                insert.bind_null(parameter);
            insert.bind(1, seq)
                .bind(2, name_of(event.kind))
                .bind(3, subkind_name(event.kind, event.subkind));
            insert.bind(4, std::uint64_t{event.vcpu});
            if (event.has_address())
                insert.bind(5, event.address).bind(6, event.address / 64);
            if (event.has_address())
                insert.bind(7, (event.address + std::max<unsigned>(event.size, 1) - 1) / 64);
            if (event.is_store() || event.kind == EventKind::load)
                insert.bind(8, std::uint64_t{event.size});
            if (event.is_store() && event.size <= 8)
                insert.bind(9, event.value);
            if (event.is_store())
                insert.bind(10, value_of(event, wide_values));
            insert.bind(11, std::uint64_t{event.site}).bind(12, std::uint64_t{event.stack});
            insert.bind(13, std::uint64_t{event.flags}).run();
        });
        connection_->execute("COMMIT");
    }

    static void TearDownTestSuite()
    {
        connection_.reset();
        directory_.reset();
    }

    static std::filesystem::path path() { return directory_->path() / "trace.db"; }

    static std::string rows(const std::string &sql)
    {
        std::string result;
        Statement statement(connection_->get(), sql);
        while (statement.step())
            result.append(statement.text(0)).append("\n");
        return result;
    }

    static inline std::unique_ptr<TemporaryDirectory> directory_;
    static inline std::unique_ptr<Database> connection_;
};

// One condition on a random column, with an operand taken from a random row or made up.
std::string condition(RandomEvents &random,
                      const std::function<std::string(const std::string &)> &ask)
{
    static const char *const columns[] = {"seq",  "kind", "vcpu",   "address", "line", "last_line",
                                          "site", "size", "number", "stack",   "rowid"};
    static const char *const operators[] = {"=", "=", "<", "<=", ">", ">=", "IS", "<>"};
    const std::string column = columns[random.below(std::size(columns))];
    const std::string stored = column == "rowid" ? "seq" : column;
    const auto operand = [&]() -> std::string {
        switch (random.below(12)) {
        case 0:
            return std::to_string(random.below(100));
        case 1:
            return "-5";
        case 2:
            return "NULL";
        case 3:
            return "2.5";
        case 4:
            return "'store'";
        default: {
            std::string value = ask("SELECT quote(" + stored + ") FROM plain WHERE seq = " +
                                    std::to_string(random.below(12000)));
            value.pop_back();
            return value;
        }
        }
    };
    if (random.below(5) == 0)
        return column + " IN (" + operand() + ", " + operand() + ", " + operand() + ")";
    return column + " " + operators[random.below(std::size(operators))] + " " + operand();
}

TEST_F(Sql, RandomQueriesEqualAFullScan)
{
    RandomEvents random(22);
    int with_rows = 0;
    for (int round = 0; round < 500; ++round) {
        std::string where = condition(random, rows);
        for (std::uint64_t i = random.below(3); i > 0; --i)
            where += (random.below(6) ? " AND " : " OR ") + condition(random, rows);
        const std::string columns = random.below(2)
                                        ? "seq||kind||subkind||vcpu||ifnull(address,'-')||ifnull("
                                          "line,'-')||ifnull(last_line,'-')"
                                          "||ifnull(size,'-')||quote(number)||quote(value)||ifnull("
                                          "site,'-')||ifnull(stack,'-')||atomic"
                                        : "seq";
        const std::string query =
            "SELECT " + columns + " FROM event WHERE " + where + " ORDER BY seq LIMIT 2000";
        std::string reference = query;
        reference.replace(reference.find(" event "), 7, " plain ");
        // An ordinary table has row ids of its own, from 1.
        for (std::size_t at; (at = reference.find("rowid")) != std::string::npos;)
            reference.replace(at, 5, "seq");
        const std::string expected = rows(reference);
        ASSERT_EQ(rows(query), expected) << query;
        with_rows += !expected.empty();
    }
    EXPECT_GT(with_rows, 150);
}

TEST_F(Sql, OrdersJoinsAndAggregates)
{
    for (const char *query : {
             "SELECT seq FROM % WHERE kind = 'fence' ORDER BY seq DESC LIMIT 50",
             "SELECT site || ':' || count(*) || ':' || total(number) FROM % GROUP BY site ORDER BY "
             "site",
             "SELECT kind || count(*) FROM % WHERE kind IN ('store', 'flush') OR vcpu = 2 GROUP BY "
             "kind ORDER BY kind",
             "SELECT count(*) FROM % a JOIN % b ON b.seq = a.seq + 1 WHERE a.kind = 'flush' AND "
             "b.kind = 'fence'",
             "SELECT count(*) FROM (SELECT DISTINCT line FROM % WHERE seq < 300) l JOIN % e ON "
             "e.line = l.line",
             "SELECT count(*) FROM % WHERE kind = 'STORE' COLLATE NOCASE",
             "SELECT count(*) FROM % WHERE line <= (SELECT min(line) FROM plain WHERE last_line > "
             "line) AND last_line >"
             " (SELECT min(line) FROM plain WHERE last_line > line)",
             "SELECT hex(value) FROM % WHERE size > 40 AND kind = 'store' ORDER BY seq LIMIT 20",
             "SELECT count(*) FROM % WHERE seq IN (5, 70, 3) OR seq BETWEEN 2000 AND 2100",
         }) {
        const auto over = [&](const std::string &table) {
            std::string text = query;
            for (std::size_t at; (at = text.find('%')) != std::string::npos;)
                text.replace(at, 1, table);
            return rows(text);
        };
        EXPECT_EQ(over("event"), over("plain")) << query;
        EXPECT_FALSE(over("plain").empty()) << query;
    }
}

// The event that ends an epoch belongs to it.
TEST_F(Sql, EpochsAreThoseOfTheConnection)
{
    EXPECT_EQ(rows("SELECT count(*) FROM event GROUP BY epoch ORDER BY epoch"), "5\n4996\n6999\n");
    EXPECT_EQ(rows("SELECT epoch FROM event WHERE seq IN (4, 5, 5000, 5001)"), "0\n1\n1\n2\n");
    Database other(path(), SQLITE_OPEN_READWRITE);
    register_tables(other.get());
    EXPECT_EQ(other.integer("SELECT count(*) FROM event"), 12000);
    EXPECT_THROW(other.integer("SELECT max(epoch) FROM event"), Error);
}

TEST_F(Sql, SystemCallsHaveNames)
{
    EXPECT_EQ(rows("SELECT system_call_name(1)"), "write\n");
    EXPECT_EQ(rows("SELECT system_call_name(74)"), "fsync\n");
    EXPECT_EQ(rows("SELECT system_call_name(99999)"), "system call 99999\n");
    EXPECT_EQ(rows("SELECT system_call_name(-1)"), "system call -1\n");
    EXPECT_EQ(rows("SELECT system_call_name('write') IS NULL"), "1\n");
}

TEST_F(Sql, EveryViewCanBeQueried)
{
    for (const char *view :
         {"store", "flush", "fence", "site_name", "event_in_function", "function_count",
          "stack_line", "operation", "system_call", "function_interval"})
        EXPECT_NO_THROW(rows(std::string("SELECT * FROM ") + view + " LIMIT 10")) << view;
    EXPECT_EQ(rows("SELECT count(*) FROM store"),
              rows("SELECT count(*) FROM plain WHERE kind IN ('store','nt_store')"));
    EXPECT_EQ(rows("SELECT sum(counts_explicit) FROM fence"),
              rows("SELECT count(*) FROM plain WHERE subkind IN ('sfence','mfence')"));
    EXPECT_EQ(rows("SELECT sum(stores) FROM site_count"),
              rows("SELECT count(*) FROM plain WHERE kind = 'store' AND site"));
    EXPECT_EQ(rows("SELECT function FROM site_name WHERE site = 1"), "0x1001\n");
}

// The same from plain rows: an interval is how many fences that count came before.
std::string reference_intervals(const std::string &fences, const std::string &where)
{
    return "WITH numbered AS (SELECT *, coalesce(sum(kind = 'fence' AND subkind IN (" + fences +
           ")) OVER (ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS interval"
           " FROM plain WHERE kind IN ('store', 'nt_store', 'flush', 'fence')),"
           " bounds AS (SELECT interval, min(seq) AS first_seq, max(seq) AS last_seq FROM numbered"
           " GROUP BY interval)"
           " SELECT interval||' '||coalesce(site, '-')||' '||sum(kind = 'store')||' '||"
           "sum(kind = 'nt_store')||' '||sum(kind = 'flush')||' '||sum(kind = 'fence')||' '||"
           "first_seq||' '||last_seq"
           " FROM numbered JOIN bounds USING (interval) " +
           where + " GROUP BY interval, site ORDER BY interval, site";
}

TEST_F(Sql, IntervalSitesEqualPlainRows)
{
    const std::string columns = "SELECT interval||' '||coalesce(site, '-')||' '||stores||' '||"
                                "nt_stores||' '||flushes||' '||fences||' '||first_seq||' '||"
                                "last_seq FROM interval_site";
    const std::string explicit_fences = "'sfence', 'mfence'";
    const std::string all_fences = "'sfence', 'mfence', 'lock_rmw', 'xchg'";
    const std::string all = rows(columns);
    EXPECT_EQ(all, rows(reference_intervals(explicit_fences, "")));
    EXPECT_GT(std::ranges::count(all, '\n'), 1000);
    EXPECT_EQ(rows(columns + "('architectural')"), rows(reference_intervals(all_fences, "")));
    EXPECT_EQ(rows(columns + " WHERE rule = 'architectural'"),
              rows(reference_intervals(all_fences, "")));
    EXPECT_EQ(rows(columns + " ORDER BY interval, site"), all);
    for (const std::string where :
         {"WHERE interval = 7", "WHERE interval < 3", "WHERE interval > 440",
          "WHERE interval BETWEEN 10 AND 12", "WHERE interval >= 5 AND interval <= 5.5",
          "WHERE interval < -1", "WHERE interval = -1", "WHERE interval IN (3, 90, 90)",
          "WHERE site = 4", "WHERE site IS NULL", "WHERE interval = 1e9", "WHERE interval > 'x'"})
        EXPECT_EQ(rows(columns + " " + where), rows(reference_intervals(explicit_fences, where)))
            << where;
    EXPECT_EQ(rows("SELECT sum(stores) + sum(flushes) FROM function_interval"),
              rows("SELECT count(*) FROM plain WHERE kind IN ('store', 'flush')"));
    EXPECT_EQ(rows("SELECT max(interval) FROM function_interval WHERE function = '0x1001'"),
              rows("SELECT max(interval) FROM interval_site WHERE site = 1"));
    EXPECT_EQ(
        rows("SELECT count(*) FROM interval_site a JOIN interval_site b USING (interval, site)"
             " WHERE a.interval = 3 AND b.interval = 3 AND site IS NOT NULL"),
        rows("SELECT count(*) FROM interval_site WHERE interval = 3 AND site IS NOT NULL"));
    EXPECT_THROW(rows(columns + "('all')"), Error);
    EXPECT_THROW(rows(columns + "(NULL)"), Error);
}

TEST_F(Sql, IntervalsOfEmptyAndUnfencedTraces)
{
    const std::filesystem::path other = directory_->path() / "intervals.db";
    const auto counted = [&](const std::string &sql) {
        Database database(other, SQLITE_OPEN_READWRITE);
        register_tables(database.get());
        return database.integer(sql);
    };
    TraceWriter::create(other).finish(RecordingState::complete, "");
    EXPECT_EQ(counted("SELECT count(*) FROM interval_site"), 0);
    {
        TraceWriter writer = TraceWriter::create(other);
        EventBuffer buffer(8);
        // A forged site id must cost no memory.
        buffer.push({.site = UINT32_MAX, .kind = EventKind::fence});
        buffer.push({.site = UINT32_MAX, .kind = EventKind::fence});
        buffer.push_marker({.kind = EventKind::marker}, {});
        writer.append(buffer);
        writer.finish(RecordingState::complete, "");
    }
    EXPECT_EQ(counted("SELECT count(*) FROM interval_site"), 2);
    EXPECT_EQ(counted("SELECT max(interval) FROM interval_site WHERE site = 4294967295"), 1);
}

// Recordings whose views and virtual tables have other names are read like any other.
TEST_F(Sql, NamesOfViewsAreNotPartOfTheFormat)
{
    const std::filesystem::path copy = directory_->path() / "older.db";
    std::filesystem::copy_file(path(), copy);
    {
        Database database(copy, SQLITE_OPEN_READWRITE);
        register_tables(database.get());
        database.execute("PRAGMA writable_schema = ON");
        database.execute("UPDATE sqlite_schema SET name = 'epoch_site', tbl_name = 'epoch_site',"
                         " sql = 'CREATE VIRTUAL TABLE epoch_site USING fencepost_epoch_site'"
                         " WHERE name = 'interval_site'");
    }
    const TraceReader older(copy);
    const auto count = [&](const char *sql) {
        Query query(older, sql);
        return query.step() ? query.integer(0) : -1;
    };
    EXPECT_EQ(count("SELECT count(*) FROM event"), static_cast<std::int64_t>(older.event_count()));
    EXPECT_GT(count("SELECT count(*) FROM function_count"), 0);
    EXPECT_THROW(count("SELECT count(*) FROM epoch_site"), Error);
}

TEST_F(Sql, DamageIsAnErrorOfTheQuery)
{
    const std::filesystem::path copy = directory_->path() / "damaged.db";
    std::filesystem::copy_file(path(), copy);
    Database database(copy, SQLITE_OPEN_READWRITE);
    register_tables(database.get());
    database.execute("UPDATE event_block SET positions = x'00' WHERE first_seq = 5000");
    try {
        database.execute("SELECT sum(address) FROM event");
        FAIL();
    } catch (const Error &error) {
        EXPECT_NE(std::string(error.what()).find("the block of events at seq 5000 of "),
                  std::string::npos)
            << error.what();
    }
    EXPECT_EQ(database.integer("SELECT count(*) FROM event WHERE seq < 5000"), 5000);
    EXPECT_THROW(database.execute("SELECT count(*) FROM interval_site"), Error);
    EXPECT_GT(database.integer("SELECT count(*) FROM interval_site WHERE interval < 20"), 20);
    database.execute("PRAGMA user_version = 9");
    EXPECT_THROW(database.execute("SELECT * FROM interval_site WHERE interval = 0"), Error);
    EXPECT_THROW(database.execute("SELECT * FROM event WHERE seq < 5000"), Error);
}

// A sanitized extension does not load into an ordinary program, so that build has no such test.
#if !FENCEPOST_ASAN
constexpr char kQuery[] =
    "SELECT count(*), sum(line), hex(max(value)) FROM event WHERE kind = 'store' AND seq > 8000";

TEST_F(Sql, LoadsIntoStockPrograms)
{
    Statement expected(connection_->get(), kQuery);
    ASSERT_TRUE(expected.step());
    const std::string line = std::string(expected.text(0)) + "|" + std::string(expected.text(1)) +
                             "|" + std::string(expected.text(2));
    const std::string extension = FENCEPOST_SQLITE_EXTENSION_PATH;
    if (find_program("sqlite3")) {
        const CommandResult result = run_command({"sqlite3", path(), ".load " + extension, kQuery});
        EXPECT_EQ(result.output, line + "\n") << result.errors;
    }
    if (std::filesystem::exists("/usr/bin/python3")) {
        const std::string script =
            "import sqlite3, sys\n"
            "c = sqlite3.connect(sys.argv[1]); c.enable_load_extension(True)\n"
            "c.load_extension(sys.argv[2])\n"
            "print('|'.join(map(str, c.execute(sys.argv[3]).fetchone())))\n";
        const CommandResult result =
            run_command({"/usr/bin/python3", "-c", script, path(), extension, kQuery});
        EXPECT_EQ(result.output, line + "\n") << result.errors;
    }
}
#endif

} // namespace
} // namespace fencepost::trace
