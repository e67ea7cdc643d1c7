// SPDX-License-Identifier: GPL-2.0-or-later
// Long because it is a table, a row a litmus test.
// Litmus tests of x86 persistency: a program, and what may be found in PM after a power failure at
// any point of it. Where a case has the shape of one in the literature, it says so; the others are
// this project's own. All variables are 0 at first.
#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "analyzer/model/line_choices.h"
#include "analyzer/model/persistence_model.h"

namespace fencepost::model {
namespace {

using trace::Event;
using trace::EventKind;
using trace::FenceKind;
using trace::FlushKind;

// x, y, z are units of three lines; x2 is another unit of x's line, and so on.
std::uint64_t address_of(const std::string &name)
{
    const std::uint64_t line = 1 + static_cast<std::uint64_t>(name[0] - 'x');
    const std::uint64_t unit = name.size() > 1 ? static_cast<std::uint64_t>(name[1] - '1') : 0;
    return line * trace::kLineBytes + unit * trace::kUnitBytes;
}

Event at(EventKind kind, const std::string &name, unsigned vcpu, unsigned subkind = 0)
{
    Event event;
    event.kind = kind;
    event.subkind = static_cast<std::uint8_t>(subkind);
    event.vcpu = static_cast<std::uint16_t>(vcpu);
    if (!name.empty())
        event.address = address_of(name);
    return event;
}

Event store(const std::string &name, std::uint64_t value, unsigned vcpu = 0)
{
    Event event = at(EventKind::store, name, vcpu);
    event.size = 8;
    event.value = value;
    return event;
}

Event nt_store(const std::string &name, std::uint64_t value, unsigned vcpu = 0)
{
    Event event = store(name, value, vcpu);
    event.kind = EventKind::nt_store;
    return event;
}

Event flush(FlushKind kind, const std::string &name, unsigned vcpu = 0)
{
    return at(EventKind::flush, name, vcpu, static_cast<unsigned>(kind));
}
Event clflush(const std::string &name, unsigned vcpu = 0)
{
    return flush(FlushKind::clflush, name, vcpu);
}
Event clflushopt(const std::string &name, unsigned vcpu = 0)
{
    return flush(FlushKind::clflushopt, name, vcpu);
}
Event clwb(const std::string &name, unsigned vcpu = 0)
{
    return flush(FlushKind::clwb, name, vcpu);
}
Event fence(FenceKind kind, unsigned vcpu = 0)
{
    return at(EventKind::fence, "", vcpu, static_cast<unsigned>(kind));
}
// A locked instruction's own store; its fence, lock(), comes before it in a trace.
Event locked(const std::string &name, std::uint64_t value, unsigned vcpu = 0)
{
    Event event = store(name, value, vcpu);
    event.flags = trace::kAtomic;
    return event;
}
Event lock(unsigned vcpu = 0)
{
    return fence(FenceKind::lock_rmw, vcpu);
}
Event sfence(unsigned vcpu = 0)
{
    return fence(FenceKind::sfence, vcpu);
}

// "x=0 y=1": the named variables have these values in one and the same state.
struct Litmus {
    std::string name;
    std::vector<Event> program;
    std::vector<std::string> allowed;
    std::vector<std::string> forbidden;
    ModelKind model = ModelKind::adr;
    FenceRule rule = FenceRule::explicit_only;
    bool at_end = false; // only a power failure after the whole program
};

using Contents = std::map<std::uint64_t, std::uint64_t>; // by address, for units that were written

// Everything that PM can hold at one crash point.
std::set<Contents> contents_at(const PersistenceModel &model, const Contents &guaranteed)
{
    std::set<Contents> all = {guaranteed};
    const InFlight &in_flight = model.in_flight();
    for (std::uint32_t number = in_flight.first_line(); number != kNone;
         number = in_flight.line(number).next) {
        const InFlightLine &line = in_flight.line(number);
        const LineChoices choices(in_flight, line);
        std::set<Contents> with_line;
        for (std::uint64_t choice = 0; choice < choices.count(); ++choice) {
            UnitCounts left = choices.at(choice);
            for (Contents contents : all) {
                UnitCounts still = left;
                in_flight.for_each_piece(line, [&](const Piece &piece) {
                    if (still[piece.unit()] == 0)
                        return;
                    --still[piece.unit()];
                    contents[line.line * trace::kLineBytes + piece.offset] = piece.value;
                });
                with_line.insert(std::move(contents));
            }
        }
        all = std::move(with_line);
    }
    return all;
}

std::set<Contents> outcomes(const Litmus &litmus)
{
    PersistenceModel model(litmus.model, litmus.rule);
    Contents guaranteed;
    std::set<Contents> found;
    for (std::size_t i = 0;; ++i) {
        if (!litmus.at_end || i == litmus.program.size())
            found.merge(contents_at(model, guaranteed));
        if (i == litmus.program.size())
            return found;
        model.apply(i, litmus.program[i], {});
        for (const SettledPiece &settled : model.in_flight().settled())
            guaranteed[settled.line * trace::kLineBytes + settled.piece.offset] =
                settled.piece.value;
    }
}

bool matches(const Contents &contents, const std::string &outcome)
{
    std::istringstream words(outcome);
    for (std::string word; words >> word;) {
        const std::size_t equals = word.find('=');
        const auto unit = contents.find(address_of(word.substr(0, equals)));
        if ((unit == contents.end() ? 0 : unit->second) != std::stoull(word.substr(equals + 1)))
            return false;
    }
    return true;
}

// Long because it is that table.
std::vector<Litmus> cases()
{
    const auto eadr = ModelKind::eadr;
    const auto line = ModelKind::line;
    const auto architectural = FenceRule::architectural;
    return {
        // After Raad, Wickerson, Neiger and Vafeiadis, "Persistency semantics of the Intel-x86
        // architecture" (POPL 2020): writes to different lines persist in any order, writes to one
        // line in theirs; flush orders later writes, flush_opt needs a fence or a locked operation.
        {"writes to two lines", {store("x", 1), store("y", 1)}, {"x=0 y=1", "x=1 y=0"}, {}},
        {"writes to one line", {store("x1", 1), store("x2", 1)}, {"x1=1 x2=0"}, {"x1=0 x2=1"}},
        {"flush before a write",
         {store("x", 1), clflush("x"), store("y", 1)},
         {"x=1 y=0"},
         {"x=0 y=1"}},
        {"flush_opt before a write",
         {store("x", 1), clflushopt("x"), store("y", 1)},
         {"x=0 y=1"},
         {}},
        {"clwb before a write", {store("x", 1), clwb("x"), store("y", 1)}, {"x=0 y=1"}, {}},
        {"flush_opt and sfence",
         {store("x", 1), clflushopt("x"), sfence(), store("y", 1)},
         {"x=1 y=0"},
         {"x=0 y=1"}},
        {"flush_opt and mfence",
         {store("x", 1), clflushopt("x"), fence(FenceKind::mfence), store("y", 1)},
         {},
         {"x=0 y=1"}},
        {"flush_opt and a locked operation",
         {store("x", 1), clflushopt("x"), fence(FenceKind::lock_rmw), store("y", 1)},
         {},
         {"x=0 y=1"},
         ModelKind::adr,
         architectural},
        {"flush_opt of one line says nothing about another",
         {store("x", 1), store("y", 1), clflushopt("x"), sfence(), store("z", 1)},
         {"x=1 y=0 z=1"},
         {"x=0 z=1"}},
        {"a write after flush_opt is not covered by it",
         {store("x", 1), clflushopt("x"), store("x", 2), sfence(), store("y", 1)},
         {"x=1 y=1"},
         {"x=0 y=1"}},
        {"sfence without a flush", {store("x", 1), sfence(), store("y", 1)}, {"x=0 y=1"}, {}},
        {"another thread sees the write and writes: no order in PM",
         {store("x", 1, 0), store("y", 1, 1)},
         {"x=0 y=1"},
         {}},
        {"another thread flushes the write that it saw",
         {store("x", 1, 0), clflushopt("x", 1), sfence(1), store("y", 1, 1)},
         {},
         {"x=0 y=1"}},
        // Mumak's §2 and the tools it compares: missing flush, missing fence.
        {"missing flush",
         {store("x", 1), sfence(), store("y", 1), clwb("y"), sfence()},
         {"x=0 y=1"},
         {},
         ModelKind::adr,
         FenceRule::explicit_only,
         true},
        {"missing fence",
         {store("x", 1), clwb("x"), store("y", 1), clflush("y")},
         {"x=0 y=1"},
         {},
         ModelKind::adr,
         FenceRule::explicit_only,
         true},
        // Our own.
        {"the fence of another vCPU completes nothing",
         {store("x", 1), clwb("x"), sfence(1), store("y", 1)},
         {"x=0 y=1"},
         {}},
        {"each vCPU's fence completes its own flushes",
         {store("x", 1), store("y", 1), clwb("x", 0), clwb("y", 1), sfence(1)},
         {"x=0 y=1"},
         {"x=1 y=0"},
         ModelKind::adr,
         FenceRule::explicit_only,
         true},
        // A locked instruction that writes to PM itself.
        {"publish by compare-and-swap",
         {store("x", 1), clwb("x"), lock(), locked("y", 1)},
         {"x=0 y=0", "x=1 y=0", "x=1 y=1"},
         {"x=0 y=1"},
         ModelKind::adr,
         FenceRule::architectural},
        {"publish by exchange",
         {store("x", 1), clflushopt("x"), fence(FenceKind::xchg), locked("y", 1)},
         {"x=1 y=0"},
         {"x=0 y=1"},
         ModelKind::adr,
         FenceRule::architectural},
        {"publish by compare-and-swap without an explicit fence",
         {store("x", 1), clwb("x"), lock(), locked("y", 1)},
         {"x=0 y=1"},
         {}},
        {"publish by compare-and-swap without a flush",
         {store("x", 1), lock(), locked("y", 1)},
         {"x=0 y=1"},
         {},
         ModelKind::adr,
         FenceRule::architectural},
        {"a non-temporal store, published by compare-and-swap",
         {nt_store("x", 1), lock(), locked("y", 1)},
         {"x=1 y=0"},
         {"x=0 y=1"},
         ModelKind::adr,
         FenceRule::architectural},
        {"a locked store is in flight itself",
         {lock(), locked("y", 1), clwb("y")},
         {"y=0", "y=1"},
         {},
         ModelKind::adr,
         FenceRule::architectural,
         true},
        {"the next locked instruction completes its flush",
         {lock(), locked("x", 1), clwb("x"), lock(), locked("y", 1)},
         {"x=1 y=0"},
         {"x=0 y=1"},
         ModelKind::adr,
         FenceRule::architectural},
        {"a locked instruction of another vCPU completes nothing",
         {store("x", 1, 0), clwb("x", 0), lock(1), locked("y", 1, 1)},
         {"x=0 y=1"},
         {},
         ModelKind::adr,
         FenceRule::architectural},
        {"a locked operation is not an explicit fence",
         {store("x", 1), clwb("x"), fence(FenceKind::lock_rmw), store("y", 1)},
         {"x=0 y=1"},
         {}},
        {"xchg counts architecturally",
         {store("x", 1), clwb("x"), fence(FenceKind::xchg), store("y", 1)},
         {},
         {"x=0 y=1"},
         ModelKind::adr,
         architectural},
        {"lfence orders no stores",
         {store("x", 1), clwb("x"), fence(FenceKind::lfence), store("y", 1)},
         {"x=0 y=1"},
         {},
         ModelKind::adr,
         architectural},
        {"cpuid and interrupt returns count for nothing",
         {store("x", 1), clwb("x"), fence(FenceKind::cpuid), fence(FenceKind::iret),
          fence(FenceKind::serialize), fence(FenceKind::other_serialising), store("y", 1)},
         {"x=0 y=1"},
         {},
         ModelKind::adr,
         architectural},
        {"wbinvd reaches every line and needs no fence",
         {store("x", 1), store("y", 1), flush(FlushKind::wbinvd, ""), store("z", 1)},
         {},
         {"x=0 z=1", "y=0 z=1"}},
        {"wbnoinvd as well",
         {store("x", 1), store("y", 1), flush(FlushKind::wbnoinvd, ""), store("z", 1)},
         {},
         {"x=0 z=1", "y=0 z=1"}},
        {"the state before a store to the same unit",
         {store("x", 1), clwb("x"), sfence(), store("x", 2)},
         {"x=1", "x=2"},
         {"x=0"},
         ModelKind::adr,
         FenceRule::explicit_only,
         true},
        {"a flush covers all earlier stores of its line",
         {store("x1", 1), store("x2", 1), clwb("x1"), sfence()},
         {},
         {"x1=0", "x2=0"},
         ModelKind::adr,
         FenceRule::explicit_only,
         true},
        // Non-temporal stores.
        {"non-temporal units of a line in any order",
         {nt_store("x1", 1), nt_store("x2", 1)},
         {"x1=0 x2=1", "x1=1 x2=0"},
         {}},
        {"non-temporal stores need no flush",
         {nt_store("x", 1), sfence(), store("y", 1)},
         {},
         {"x=0 y=1"}},
        {"but a fence",
         {nt_store("x", 1), store("y", 1), clflush("y")},
         {"x=0 y=1"},
         {},
         ModelKind::adr,
         FenceRule::explicit_only,
         true},
        {"of their own vCPU", {nt_store("x", 1, 0), sfence(1), store("y", 1, 1)}, {"x=0 y=1"}, {}},
        {"a flush does not empty a write-combining buffer",
         {nt_store("x", 1, 0), clwb("x", 1), sfence(1), store("y", 1, 1)},
         {"x=0 y=1"},
         {}},
        {"clflush neither", {nt_store("x", 1), clflush("x"), store("y", 1)}, {"x=0 y=1"}, {}},
        {"one unit keeps its order",
         {nt_store("x", 1), nt_store("x", 2), sfence()},
         {"x=0", "x=1", "x=2"},
         {}},
        {"no older value comes back",
         {nt_store("x", 1), nt_store("x", 2), sfence()},
         {"x=2"},
         {"x=0", "x=1"},
         ModelKind::adr,
         FenceRule::explicit_only,
         true},
        // Cached and non-temporal stores in one line.
        {"other units are not ordered",
         {store("x1", 1), nt_store("x2", 1)},
         {"x1=0 x2=1", "x1=1 x2=0"},
         {}},
        {"nor the other way round",
         {nt_store("x1", 1), store("x2", 1)},
         {"x1=0 x2=1", "x1=1 x2=0"},
         {}},
        {"a non-temporal store over a cached one takes the line's earlier stores along",
         {store("x1", 1), store("x2", 1), nt_store("x2", 2)},
         {"x1=1 x2=0"},
         {"x1=0 x2=2"}},
        {"and makes them guaranteed with itself",
         {store("x1", 1), store("x2", 1), nt_store("x2", 2), sfence()},
         {"x1=1 x2=2"},
         {"x1=0", "x2=0", "x2=1"},
         ModelKind::adr,
         FenceRule::explicit_only,
         true},
        {"a cached store over a non-temporal one of another vCPU, flushed",
         {nt_store("x", 1, 0), store("x", 2, 1), clwb("x", 1), sfence(1)},
         {"x=2"},
         {"x=0", "x=1"},
         ModelKind::adr,
         FenceRule::explicit_only,
         true},
        {"the rest of the line stays in flight",
         {nt_store("x1", 1), store("x2", 1), clwb("x1"), sfence(1), clflush("x1")},
         {"x1=0 x2=1"},
         {"x2=0"},
         ModelKind::adr,
         FenceRule::explicit_only,
         true},
        // eADR.
        {"eadr: a store is there", {store("x", 1), store("y", 1)}, {"x=1 y=0"}, {"x=0 y=1"}, eadr},
        {"eadr: a non-temporal store needs its fence",
         {nt_store("x", 1), store("y", 1)},
         {"x=0 y=1"},
         {},
         eadr},
        {"eadr: and has it", {nt_store("x", 1), sfence(), store("y", 1)}, {}, {"x=0 y=1"}, eadr},
        {"eadr: a cached store over a non-temporal one",
         {nt_store("x1", 1), nt_store("x2", 1), store("x1", 2)},
         {"x1=2 x2=0"},
         {"x1=0", "x1=1"},
         eadr,
         FenceRule::explicit_only,
         true},
        // Whole lines.
        {"line: non-temporal units keep their order",
         {nt_store("x1", 1), nt_store("x2", 1)},
         {"x1=1 x2=0"},
         {"x1=0 x2=1"},
         line},
        {"line: lines do not", {nt_store("x", 1), nt_store("y", 1)}, {"x=0 y=1"}, {}, line},
    };
}

class LitmusTest : public testing::TestWithParam<Litmus> {};

TEST_P(LitmusTest, Outcomes)
{
    const Litmus &litmus = GetParam();
    ASSERT_FALSE(litmus.allowed.empty() && litmus.forbidden.empty());
    const std::set<Contents> found = outcomes(litmus);
    const auto possible = [&](const std::string &outcome) {
        for (const Contents &contents : found)
            if (matches(contents, outcome))
                return true;
        return false;
    };
    for (const std::string &outcome : litmus.allowed)
        EXPECT_TRUE(possible(outcome)) << litmus.name << ": " << outcome << " is allowed";
    for (const std::string &outcome : litmus.forbidden)
        EXPECT_FALSE(possible(outcome)) << litmus.name << ": " << outcome << " is forbidden";
}

std::string test_name(const testing::TestParamInfo<Litmus> &info)
{
    std::string name;
    for (const char letter : info.param.name)
        name += std::isalnum(static_cast<unsigned char>(letter)) ? letter : '_';
    return name;
}

INSTANTIATE_TEST_SUITE_P(Model, LitmusTest, testing::ValuesIn(cases()), test_name);

// A store of 16 bytes is two pieces, one across a line boundary two pieces in two lines.
TEST(Pieces, WideStoresAreTorn)
{
    const std::array<std::byte, 16> bytes = {std::byte{1}};
    for (const auto &[kind, states] : {std::pair{ModelKind::adr, 3u}, {ModelKind::line, 2u}}) {
        PersistenceModel model(kind, FenceRule::explicit_only);
        Event wide = store("x", 0);
        wide.size = 16;
        model.apply(0, wide, bytes);
        ASSERT_EQ(model.in_flight().line_count(), 1u);
        EXPECT_EQ(LineChoices(model.in_flight(), model.in_flight().line(0)).count(), states);
    }
    PersistenceModel model(ModelKind::line, FenceRule::explicit_only);
    Event crossing = store("x8", 0);
    crossing.size = 16;
    model.apply(0, crossing, bytes);
    EXPECT_EQ(model.in_flight().line_count(), 2u);
}

// Memory follows what is in flight, not the length of the trace.
TEST(Memory, EntriesThatMeanNothingAreForgotten)
{
    for (const ModelKind kind : {ModelKind::adr, ModelKind::eadr, ModelKind::line}) {
        PersistenceModel model(kind, FenceRule::explicit_only);
        std::uint64_t seq = 0;
        for (unsigned round = 0; round < 200000; ++round) {
            model.apply(seq++, nt_store(round % 2 ? "x" : "y", round, round % 3), {});
            model.apply(seq++, store(round % 2 ? "x" : "y", round), {});
            model.apply(seq++, clwb(round % 2 ? "x" : "y", round % 3), {});
            model.apply(seq++, flush(FlushKind::wbinvd, ""), {});
        }
        EXPECT_LE(model.in_flight().line_count(), 2u);
        EXPECT_LE(model.in_flight().piece_count(), 2u);
        model.apply(seq++, sfence(0), {});
        model.apply(seq++, sfence(1), {});
        model.apply(seq++, sfence(2), {});
        EXPECT_EQ(model.in_flight().piece_count(), 0u);
    }
}

} // namespace
} // namespace fencepost::model
