// SPDX-License-Identifier: GPL-2.0-or-later
// The rules' table of lines against the persistence model: the same units in flight after every
// event.
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "analyzer/model/persistence_model.h"
#include "analyzer/rules/line_table.h"

namespace fencepost::rules {
namespace {

using model::FenceRule;
using model::ModelKind;
using trace::Event;
using trace::EventKind;

constexpr std::uint64_t kBase = 4ull << 30;

struct Mix {
    unsigned lines = 4;
    unsigned vcpus = 2;
    bool non_temporal = true;
};

class RandomTrace {
public:
    RandomTrace(std::uint64_t seed, Mix mix) : random_(seed), mix_(mix) {}

    Event next()
    {
        Event event;
        event.vcpu = static_cast<std::uint16_t>(below(mix_.vcpus));
        event.site = static_cast<trace::SiteId>(1 + below(5));
        const std::uint64_t what = below(20);
        if (what < 11) {
            event.kind = what < 7 || !mix_.non_temporal ? EventKind::store : EventKind::nt_store;
            event.size = static_cast<std::uint8_t>(below(4) ? 1u << below(4) : 1 + below(64));
            event.address = kBase + below(mix_.lines * 64 - event.size);
        } else if (what < 16) {
            event.kind = EventKind::flush;
            event.subkind = static_cast<std::uint8_t>(below(8) ? 1 + below(2) : below(5));
            if (event.has_address())
                event.address = kBase + below(mix_.lines * 64);
        } else {
            event.kind = EventKind::fence;
            event.subkind = static_cast<std::uint8_t>(below(3) ? 0 : below(5));
        }
        return event;
    }

private:
    std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
    std::mt19937_64 random_;
    Mix mix_;
};

using Units = std::map<std::uint64_t, unsigned>; // line -> units in flight

Units of_model(const model::InFlight &in_flight)
{
    Units units;
    for (std::uint32_t number = in_flight.first_line(); number != model::kNone;
         number = in_flight.line(number).next)
        in_flight.for_each_piece(in_flight.line(number), [&](const model::Piece &piece) {
            units[in_flight.line(number).line] |= 1u << piece.unit();
        });
    return units;
}

Units of_table(const LineTable &table)
{
    Units units;
    table.for_each([&](const WrittenLine &line) { units[line.line] = line.in_flight(); });
    return units;
}

void compare(std::uint64_t seed, Mix mix, ModelKind kind, FenceRule rule)
{
    const trace::Region region = {.id = 1, .name = "pm", .base = kBase, .size = 4096};
    RandomTrace events(seed, mix);
    LineTable table(std::span(&region, 1), kind, rule);
    model::PersistenceModel reference(kind, rule);
    for (std::uint64_t seq = 1; seq < 400; ++seq) {
        const Event event = events.next();
        reference.apply(seq, event, {});
        FenceResult result;
        if (event.is_store())
            table.store(seq, event, [](const WrittenLine &, std::uint64_t) {});
        else if (event.kind == EventKind::flush)
            table.flush(seq, event);
        else
            table.fence(seq, event, result, [](const WrittenLine &, std::uint8_t) {});
        const Units expected = of_model(reference.in_flight());
        ASSERT_EQ(of_table(table), expected) << "seed " << seed << ", event " << seq;
        for (const auto &[line, units] : expected)
            ASSERT_EQ(table.find(line)->in_flight(), units);
    }
}

TEST(RulesLines, EqualTheModel)
{
    for (std::uint64_t seed = 1; seed <= 200; ++seed)
        for (const ModelKind kind : {ModelKind::adr, ModelKind::eadr})
            for (const FenceRule rule : {FenceRule::explicit_only, FenceRule::architectural})
                for (const Mix mix : {Mix{.vcpus = 3}, Mix{.lines = 16, .vcpus = 1},
                                      Mix{.vcpus = 3, .non_temporal = false}})
                    compare(seed, mix, kind, rule);
}

// Flushes and non-temporal stores that wait for a fence which does not come.
TEST(RulesLines, EqualTheModelWithoutFences)
{
    const trace::Region region = {.id = 1, .name = "pm", .base = kBase, .size = 4096};
    RandomTrace events(1, {.vcpus = 3});
    LineTable table(std::span(&region, 1), ModelKind::adr, FenceRule::explicit_only);
    model::PersistenceModel reference(ModelKind::adr, FenceRule::explicit_only);
    for (std::uint64_t seq = 1; seq < 60000; ++seq) {
        const Event event = events.next();
        FenceResult result;
        if (event.kind == EventKind::fence && seq % 20000 > 1000)
            continue;
        reference.apply(seq, event, {});
        if (event.is_store())
            table.store(seq, event, [](const WrittenLine &, std::uint64_t) {});
        else if (event.kind == EventKind::flush)
            table.flush(seq, event);
        else
            table.fence(seq, event, result, [](const WrittenLine &, std::uint8_t) {});
        if (seq % 20000 <= 1000) {
            ASSERT_EQ(of_table(table), of_model(reference.in_flight())) << "event " << seq;
        }
    }
}

// A fence brings the cached stores with it that its vCPU's non-temporal ones are over, and no
// other: neither that of event 0 nor any.
TEST(RulesLines, NonTemporalOverNothing)
{
    const trace::Region region = {.id = 1, .name = "pm", .base = kBase, .size = 4096};
    LineTable table(std::span(&region, 1), ModelKind::adr, FenceRule::explicit_only);
    const auto store = [&](std::uint64_t seq, EventKind kind, unsigned unit, std::uint16_t vcpu) {
        table.store(seq, {.address = kBase + unit * 8, .kind = kind, .size = 8, .vcpu = vcpu},
                    [](const WrittenLine &, std::uint64_t) {});
    };
    store(0, EventKind::store, 0, 0);
    store(1, EventKind::store, 1, 0);
    store(2, EventKind::nt_store, 1, 0);
    store(3, EventKind::nt_store, 2, 1);
    FenceResult result;
    const auto settled = [](const WrittenLine &, std::uint8_t) {};
    table.fence(4, {.kind = EventKind::fence, .vcpu = 1}, result, settled);
    EXPECT_EQ(of_table(table), (Units{{kBase / 64, 3}}));
    table.fence(5, {.kind = EventKind::fence, .vcpu = 0}, result, settled);
    EXPECT_EQ(of_table(table), Units());
}

// A line that is written over and over without a flush costs one entry.
TEST(RulesLines, MemoryFollowsLinesNotStores)
{
    const trace::Region region = {.id = 1, .name = "pm", .base = kBase, .size = 1 << 20};
    LineTable table(std::span(&region, 1), ModelKind::adr, FenceRule::explicit_only);
    for (std::uint64_t seq = 0; seq < 200000; ++seq) {
        const Event store = {
            .address = kBase + seq % 100 * 64, .kind = EventKind::store, .size = 8};
        table.store(seq, store, [](const WrittenLine &, std::uint64_t) {});
    }
    EXPECT_LE(table.lines(), 101u);
    EXPECT_LE(table.pages(), 3u);
}

} // namespace
} // namespace fencepost::rules
