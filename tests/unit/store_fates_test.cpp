// SPDX-License-Identifier: GPL-2.0-or-later
// Table `store_fate` and column `epoch` against the persistence model's definition, told once more
// and slowly: from each store on, which flush and which fence come.
#include "analyzer/tables/store_fates.h"

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "analyzer/tables/epoch_ends.h"
#include "analyzer/tables/model_tables.h"
#include "base/error.h"
#include "base/files.h"
#include "trace/query.h"
#include "trace/writer.h"

namespace fencepost::tables {
namespace {

using trace::Event;
using trace::EventKind;
using trace::FenceKind;
using trace::FlushKind;

constexpr std::uint64_t kBase = 4ull << 30;
constexpr unsigned kCachedLines = 5; // the three behind them have non-temporal stores only

Event with_kind(EventKind kind, unsigned subkind, std::uint16_t vcpu)
{
    Event event;
    event.kind = kind;
    event.subkind = static_cast<std::uint8_t>(subkind);
    event.vcpu = vcpu;
    return event;
}

std::vector<Event> random_events(std::mt19937_64 &random, std::size_t count)
{
    std::vector<Event> events;
    const auto below = [&](std::uint64_t limit) { return random() % limit; };
    while (events.size() < count) {
        const auto vcpu = static_cast<std::uint16_t>(below(2));
        switch (below(8)) {
        case 0:
            events.push_back(with_kind(EventKind::fence, static_cast<unsigned>(below(5)), vcpu));
            break;
        case 1:
        case 2: {
            const bool all = below(20) == 0;
            Event event =
                with_kind(EventKind::flush, static_cast<unsigned>(all ? 3 : below(3)), vcpu);
            event.address = all ? 0 : kBase + below(kCachedLines) * 64;
            events.push_back(event);
            break;
        }
        case 3: {
            Event event = with_kind(EventKind::nt_store, 0, vcpu);
            event.address = kBase + (kCachedLines + below(3)) * 64 + below(8) * 8;
            event.size = 8;
            events.push_back(event);
            break;
        }
        default: {
            Event event = with_kind(EventKind::store, 0, vcpu);
            event.address = kBase + below((kCachedLines - 1) * 64);
            event.size = static_cast<std::uint8_t>(1 + below(64));
            events.push_back(event);
        }
        }
    }
    return events;
}

bool counts(const Event &event, bool architectural)
{
    if (event.kind != EventKind::fence)
        return false;
    const FenceKind kind = event.fence_kind();
    return kind == FenceKind::sfence || kind == FenceKind::mfence ||
           (architectural && (kind == FenceKind::lock_rmw || kind == FenceKind::xchg));
}

struct Told {
    std::optional<std::uint64_t> flushed;
    std::optional<std::uint64_t> guaranteed;
    std::uint64_t fences = 0;

    bool operator==(const Told &) const = default;
};

std::optional<std::uint64_t> next_fence(const std::vector<Event> &events, std::uint64_t from,
                                        std::uint16_t vcpu, bool architectural)
{
    for (std::uint64_t at = from + 1; at < events.size(); ++at)
        if (events[at].vcpu == vcpu && counts(events[at], architectural))
            return at;
    return std::nullopt;
}

// Pieces of a unit persist in order: what is written to it later takes this one along.
Told told_of_non_temporal(const std::vector<Event> &events, std::uint64_t seq, bool architectural)
{
    Told told;
    for (std::uint64_t at = seq; at < events.size(); ++at) {
        if (events[at].kind != EventKind::nt_store || events[at].address != events[seq].address)
            continue;
        const auto by = next_fence(events, at, events[at].vcpu, architectural);
        if (by && (!told.guaranteed || *by < *told.guaranteed))
            told.guaranteed = by;
    }
    return told;
}

// Of what a store wrote to one line.
Told told_of_line(const std::vector<Event> &events, std::uint64_t seq, std::uint64_t line,
                  bool architectural)
{
    if (events[seq].kind == EventKind::nt_store)
        return told_of_non_temporal(events, seq, architectural);
    Told told;
    for (std::uint64_t at = seq + 1; at < events.size(); ++at) {
        const Event &flush = events[at];
        if (flush.kind != EventKind::flush || (flush.has_address() && flush.first_line() != line))
            continue;
        if (told.guaranteed && at > *told.guaranteed)
            break;
        if (!told.flushed)
            told.flushed = at;
        const bool waits = flush.has_address() && flush.flush_kind() != FlushKind::clflush;
        const auto by = waits ? next_fence(events, at, flush.vcpu, architectural) : at;
        if (by && (!told.guaranteed || *by < *told.guaranteed))
            told.guaranteed = by;
    }
    return told;
}

Told told(const std::vector<Event> &events, std::uint64_t seq, bool architectural)
{
    const Event &store = events[seq];
    Told all = told_of_line(events, seq, store.first_line(), architectural);
    if (store.last_line() != store.first_line()) {
        const Told other = told_of_line(events, seq, store.last_line(), architectural);
        all.flushed =
            all.flushed && other.flushed ? std::max(all.flushed, other.flushed) : std::nullopt;
        all.guaranteed = all.guaranteed && other.guaranteed
                             ? std::max(all.guaranteed, other.guaranteed)
                             : std::nullopt;
    }
    const std::uint64_t end = all.guaranteed.value_or(events.size());
    for (std::uint64_t at = seq + 1; at < end; ++at)
        all.fences += counts(events[at], architectural);
    return all;
}

class TraceFile {
public:
    explicit TraceFile(const std::vector<Event> &events) : folder_(testing::TempDir(), "fates")
    {
        trace::TraceWriter writer = trace::TraceWriter::create(path());
        trace::EventBuffer buffer(events.size());
        const std::array<std::byte, 64> bytes = {};
        for (const Event &event : events) {
            if (event.is_store())
                buffer.push_store(event, bytes.data());
            else
                buffer.push(event);
        }
        writer.append(buffer);
        writer.finish(trace::RecordingState::complete, "");
    }
    std::filesystem::path path() const { return folder_.path() / "trace.db"; }

private:
    TemporaryDirectory folder_;
};

TEST(StoreFates, AreThoseOfTheDefinition)
{
    std::mt19937_64 random(17);
    std::size_t lost = 0;
    for (int round = 0; round < 300; ++round) {
        const bool architectural = round % 2;
        const std::vector<Event> events = random_events(random, 60);
        const TraceFile file(events);
        const trace::TraceReader reader(file.path());
        StoreFates fates(reader.scan(), model::ModelKind::adr,
                         architectural ? model::FenceRule::architectural
                                       : model::FenceRule::explicit_only);
        std::map<std::uint64_t, StoreFate> found;
        while (fates.next())
            for (const StoreFate &fate : fates.fates())
                EXPECT_TRUE(found.emplace(fate.seq, fate).second) << fate.seq;
        for (std::uint64_t seq = 0; seq < events.size(); ++seq) {
            ASSERT_EQ(found.count(seq), events[seq].is_store());
            if (!events[seq].is_store())
                continue;
            const StoreFate &fate = found[seq];
            const Told expected = told(events, seq, architectural);
            lost += !expected.guaranteed;
            const bool flushes_count = events[seq].kind == EventKind::store;
            EXPECT_EQ(fate.guaranteed, expected.guaranteed) << "round " << round << " seq " << seq;
            EXPECT_EQ(fate.fences, expected.fences) << "round " << round << " seq " << seq;
            if (flushes_count) {
                EXPECT_EQ(fate.flushed, expected.flushed) << "round " << round << " seq " << seq;
            }
        }
    }
    EXPECT_GT(lost, 1000u);
}

// An epoch ends where the first store is guaranteed that was not.
TEST(StoreFates, EpochsEndWhereSomethingIsGuaranteed)
{
    std::mt19937_64 random(18);
    const std::vector<Event> events = random_events(random, 500);
    const TraceFile file(events);
    const trace::TraceReader reader(file.path());
    std::set<std::uint64_t> guaranteed_at;
    for (std::uint64_t seq = 0; seq < events.size(); ++seq)
        if (events[seq].is_store()) {
            const Event &store = events[seq];
            for (const std::uint64_t line : {store.first_line(), store.last_line()})
                if (const auto at = told_of_line(events, seq, line, false).guaranteed)
                    guaranteed_at.insert(*at);
        }
    const std::vector<std::uint64_t> ends = epoch_ends(reader.scan());
    EXPECT_TRUE(std::ranges::equal(ends, guaranteed_at));

    add_model_tables(reader);
    trace::Query rows(reader, "SELECT seq, epoch FROM event ORDER BY seq");
    while (rows.step()) {
        const auto seq = static_cast<std::uint64_t>(rows.integer(0));
        EXPECT_EQ(rows.integer(1),
                  std::distance(guaranteed_at.begin(), guaranteed_at.lower_bound(seq)));
    }
}

// With eadr a cached store waits for nothing.
TEST(StoreFates, OtherModels)
{
    std::mt19937_64 random(19);
    const TraceFile file(random_events(random, 200));
    const trace::TraceReader reader(file.path());
    add_model_tables(reader);
    const auto count = [&](const std::string &sql) {
        trace::Query query(reader, sql);
        return query.step() ? query.integer(0) : -1;
    };
    const std::string cached = "SELECT count(*) FROM store_fate WHERE kind = 'store' AND ";
    EXPECT_EQ(count(cached + "model = 'eadr' AND guaranteed_seq <> seq"), 0);
    EXPECT_GT(count(cached + "model = 'eadr' AND guaranteed_by = 'store'"), 20);
    EXPECT_EQ(count(cached + "model = 'adr' AND guaranteed_seq = seq"), 0);
    EXPECT_NE(count("SELECT sum(fences_passed) FROM store_fate('adr', 'explicit')"),
              count("SELECT sum(fences_passed) FROM store_fate('adr', 'architectural')"));
    EXPECT_THROW(count(cached + "model = 'arm'"), fencepost::Error);
    EXPECT_THROW(count(cached + "rule = 'all'"), fencepost::Error);
}

// Single events by seq, as a join asks for them, from the block that is open and from others.
TEST(StoreFates, JoinsWithEventsBySeq)
{
    std::mt19937_64 random(20);
    const TraceFile file(random_events(random, 3000));
    const trace::TraceReader reader(file.path());
    add_model_tables(reader);
    trace::Query query(reader, "SELECT count(*), sum(e.seq = f.seq), sum(e.kind = f.kind), "
                               "sum(e.epoch = f.epoch), sum(e.address = f.address), "
                               "sum(e.kind = 'store'), sum(f.kind = 'store') "
                               "FROM store_fate f JOIN event e USING (seq)");
    ASSERT_TRUE(query.step());
    EXPECT_GT(query.integer(0), 1000);
    for (int column = 1; column <= 4; ++column)
        EXPECT_EQ(query.integer(column), query.integer(0)) << column;
    EXPECT_EQ(query.integer(5), query.integer(6));
}

} // namespace
} // namespace fencepost::tables
