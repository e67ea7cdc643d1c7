// SPDX-License-Identifier: GPL-2.0-or-later
// Strategies, names, windows and groups of crash states.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/files.h"
#include "replayer/states/state_walk.h"
#include "tests/golden/trace_text.h"
#include "tests/states/pm_work.h"

namespace fencepost::states {
namespace {

class Ids : public StateListener {
public:
    void event(std::uint64_t, const trace::Event &, std::span<const std::byte>,
               const model::InFlight &) override
    {
    }
    bool state(const StateView &state) override
    {
        ids.push_back(id_of(walk->crash_state(state)).substr(9));
        levels[ids.back()].assign(state.levels.exceptions.begin(), state.levels.exceptions.end());
        return ids.size() < limit;
    }
    void epoch(const EpochCount &epoch) override { epochs.push_back(epoch); }

    StateWalk *walk = nullptr;
    std::vector<std::string> ids; // without the trace's digits
    std::map<std::string, std::vector<ItemLevel>> levels;
    std::vector<EpochCount> epochs;
    std::size_t limit = SIZE_MAX;
};

class States : public testing::Test {
protected:
    trace::TraceReader made(std::string_view text) const
    {
        golden::write_trace(text, path());
        return trace::TraceReader(path());
    }
    std::filesystem::path path() const { return directory_.path() / "trace.db"; }

    static Ids walk(const trace::TraceReader &reader, WalkOptions options,
                    WalkReport *report = nullptr)
    {
        StateWalk walk(reader, std::move(options));
        Ids ids;
        ids.walk = &walk;
        const WalkReport done = walk.run(ids);
        if (report)
            *report = done;
        return ids;
    }
    static std::vector<std::string> ids(const trace::TraceReader &reader, std::string_view strategy,
                                        WalkOptions options = {})
    {
        options.strategies = parse_strategies(strategy);
        return walk(reader, std::move(options)).ids;
    }

    const TemporaryDirectory directory_{testing::TempDir(), "states"};
};

using List = std::vector<std::string>;

// Two lines, one of them with two stores, and a fence that guarantees the first.
constexpr std::string_view kTwoLines = R"(
store pmem0+0x40 8 = 1 @a
store pmem0+0x80 8 = 2 @b
store pmem0+0x88 8 = 3 @b
flush clwb pmem0+0x40 @c
fence sfence @c
store pmem0+0x40 8 = 4 @d
)";

TEST_F(States, NoneAndAllAtEachBoundaryAndTheEnd)
{
    EXPECT_EQ(ids(made(kTwoLines), "none-all"), (List{"aea-4-n", "aea-4-a", "aea-6-n", "aea-6-a"}));
    EXPECT_EQ(ids(made(kTwoLines), "all"), (List{"aea-4-a", "aea-6-a"}));
    EXPECT_EQ(ids(made(kTwoLines), "count"), List{});
}

// Behind the marker that ends it, also where that is no boundary or the last event.
TEST_F(States, EverythingWrittenWhenAnOperationHasReturned)
{
    const trace::TraceReader reader = made(R"(
op_begin 1 "first"
store pmem0+0x40 8 = 1 @a
op_end 1
store pmem0+0x40 8 = 2 @b
flush clwb pmem0+0x40 @b
syscall_exit 1 = 0
fence sfence @b
store pmem0+0x80 8 = 3 @c
op_end 2
)");
    EXPECT_EQ(ids(reader, "returns"), (List{"aea-3-a", "aea-6-a", "aea-9-a"}));
    EXPECT_EQ(ids(reader, "durable"), (List{"aea-3-n", "aea-6-n", "aea-9-n"}));
    EXPECT_EQ(ids(reader, "returns,none-all"),
              (List{"aea-2-n", "aea-2-a", "aea-3-a", "aea-5-n", "aea-5-a", "aea-6-a", "aea-6-n",
                    "aea-8-n", "aea-8-a", "aea-9-a", "aea-9-n"}));
    EXPECT_EQ(ids(reader, "returns", {.window = {.last_seq = 5}}), List{"aea-3-a"});
}

TEST_F(States, SubsetsChangeUpToKItemsToEveryLevel)
{
    const WalkOptions first = {.window = {.last_seq = 4}};
    EXPECT_EQ(ids(made(kTwoLines), "subsets:1", first),
              (List{"aea-4-n", "aea-4-n+0.1", "aea-4-n+1.1", "aea-4-n+1.2", "aea-4-a",
                    "aea-4-a+0.0", "aea-4-a+1.0", "aea-4-a+1.1"}));
    const List two = ids(made(kTwoLines), "subsets:2", first);
    EXPECT_EQ(two.size(), 12u); // 2 x 3 states from each end, with one and both items changed
    EXPECT_EQ(std::count(two.begin(), two.end(), "aea-4-n+0.1+1.2"), 1);
    EXPECT_EQ(ids(made(kTwoLines), "subsets:9", first), two);
}

TEST_F(States, ExhaustiveIsAllOfThemOrSaysSo)
{
    WalkOptions options = {.strategies = parse_strategies("exhaustive")};
    WalkReport report;
    const trace::TraceReader reader = made(kTwoLines);
    EXPECT_EQ(walk(reader, options, &report).ids.size(), 6u + 6u);
    EXPECT_EQ(report.legal.exact, 12u);
    EXPECT_EQ(report.capped, 0u);
    options.strategies = parse_strategies("exhaustive:6");
    walk(reader, options, &report);
    EXPECT_EQ(report.capped, 0u);
    options.strategies = parse_strategies("exhaustive:5");
    EXPECT_EQ(walk(reader, options, &report).ids.size(), 5u + 5u);
    EXPECT_EQ(report.capped, 2u);
}

TEST_F(States, AccumulateInTheOrderOfTheFirstStore)
{
    const WalkOptions first = {.window = {.last_seq = 4}};
    EXPECT_EQ(ids(made(kTwoLines), "ReorderAccumulative", first),
              (List{"aea-4-f0", "aea-4-f1", "aea-4-f2"}));
    EXPECT_EQ(ids(made(kTwoLines), "ReorderReverseAccumulative", first),
              (List{"aea-4-b0", "aea-4-b1", "aea-4-b2"}));
    EXPECT_EQ(ids(made(kTwoLines), "ReorderPartial", first).size(), 6u);
    EXPECT_EQ(ids(made(kTwoLines), "NoReorderDoCheck", first), (List{"aea-4-a"}));
    EXPECT_EQ(ids(made(kTwoLines), "NoReorderNoCheck", first), List{});
    EXPECT_EQ(ids(made(kTwoLines), "ReorderFull", first).size(), 6u);
}

TEST_F(States, CombinationsComeInTheOrderGivenAndOnce)
{
    EXPECT_EQ(ids(made(kTwoLines), "none-all,subsets:1,all", {.window = {.last_seq = 4}}),
              (List{"aea-4-n", "aea-4-a", "aea-4-n+0.1", "aea-4-n+1.1", "aea-4-n+1.2",
                    "aea-4-a+0.0", "aea-4-a+1.0", "aea-4-a+1.1"}));
}

// A flush or fence by a new path, with a store since the one before.
TEST_F(States, FailurePoints)
{
    const trace::TraceReader reader = made(R"(
store pmem0+0x40 8 = 1 @a
flush clwb pmem0+0x40 @f ^x      # 1: yes
fence sfence @g ^x               # 2: no store since
store pmem0+0x40 8 = 2 @a
flush clwb pmem0+0x40 @f ^x      # 4: the same path
store pmem0+0x40 8 = 3 @a
flush clwb pmem0+0x40 @f ^y      # 6: another caller
store pmem0+0x40 8 = 4 @a
fence lock_rmw @h ^x             # 8: does not count as a fence
fence sfence @g ^x               # 9: yes
store pmem0+0x40 8 = 5 @a
fence sfence @g ^x<z             # 11: another caller's caller
)");
    EXPECT_EQ(ids(reader, "prefix"), (List{"aea-1-a", "aea-6-a", "aea-9-a", "aea-11-a"}));
    EXPECT_EQ(ids(reader, "prefix", {.fences = model::FenceRule::architectural}),
              (List{"aaa-1-a", "aaa-6-a", "aaa-8-a", "aaa-11-a"}));
}

TEST_F(States, RandomDependsOnTheSeedAlone)
{
    trace::PmWork({.pm_bytes = 1 << 20, .forgetful = true}).write(path(), 3000);
    const trace::TraceReader reader(path());
    const auto levels = [&](std::string_view strategy, std::uint64_t seed, Window window = {}) {
        return walk(reader,
                    {.strategies = parse_strategies(strategy), .seed = seed, .window = window})
            .levels;
    };
    const auto all = levels("random:3", 5);
    EXPECT_EQ(levels("random:3", 5), all);
    // Neither what else is generated nor where the window begins makes a difference.
    const auto is_random = [](const std::string &id) { return id.find("-r") != std::string::npos; };
    unsigned compared = 0;
    for (const auto &[id, of_state] : levels("none-all,random:2", 5, {.first_seq = 1000}))
        if (is_random(id) && all.contains(id)) {
            EXPECT_EQ(all.at(id), of_state) << id;
            ++compared;
        }
    EXPECT_GT(compared, 10u);
    unsigned different = 0;
    unsigned random = 0;
    for (const auto &[id, of_state] : levels("random:3", 6)) {
        if (!is_random(id))
            continue;
        std::string other = id;
        other.replace(other.find("-r6."), 4, "-r5.");
        const auto found = all.find(other);
        different += found == all.end() || found->second != of_state;
        ++random;
    }
    EXPECT_GT(different, random / 2);
}

// Where there are few states, random ones are all of them; else none comes twice.
TEST_F(States, RandomStatesDoNotRepeat)
{
    EXPECT_EQ(ids(made(""), "random:4"), (List{"aea-0-n"}));
    EXPECT_EQ(ids(made(R"(
store pmem0+0x40 8 = 1 @a
store pmem0+0x80 8 = 1 @b
store pmem0+0x80 8 = 2 @c
)"),
                  "random:1"),
              (List{"aea-3-n", "aea-3-n+0.1", "aea-3-n+1.1", "aea-3-n+0.1+1.1", "aea-3-n+1.2",
                    "aea-3-a"}));
    std::string five;
    for (unsigned line = 0; line < 5; ++line) // 32 states
        five += "store pmem0+" + std::to_string(line * 128) + " 8 = 1 @a\n";
    const trace::TraceReader reader = made(five);
    EXPECT_EQ(ids(reader, "random:32").size(), 32u) << "all of them";
    for (const char *strategy : {"random:24", "none-all,random:20", "random:24,none-all"}) {
        const Ids found = walk(reader, {.strategies = parse_strategies(strategy)});
        std::set<std::size_t> persisted; // bit: a line
        for (const auto &[id, levels] : found.levels) {
            std::size_t lines = id == "aea-5-a" ? 31 : 0;
            for (const ItemLevel &each : levels)
                lines |= 1u << each.item;
            persisted.insert(lines);
        }
        EXPECT_GE(found.ids.size(), 22u) << strategy;
        EXPECT_EQ(persisted.size(), found.ids.size()) << strategy;
    }
}

// Every state can be named, found again by its name, and gone on from.
TEST_F(States, ResumeAnywhere)
{
    trace::PmWork({.pm_bytes = 1 << 20, .forgetful = true, .mixed_lines = true})
        .write(path(), 2000);
    const trace::TraceReader reader(path());
    const std::string digits = reader.recording().event_digest.substr(0, 8) + "-";
    const std::string_view strategy = "prefix,none-all,random:2,subsets:1,exhaustive:4,accumulate";
    const List all = ids(reader, strategy);
    ASSERT_GT(all.size(), 300u);
    for (std::size_t at = 0; at < all.size(); at += 37) {
        const CrashState id = parse_crash_state(digits + all[at]);
        EXPECT_EQ(id_of(id), digits + all[at]);
        EXPECT_EQ(ids(reader, strategy, {.after = id}), List(all.begin() + at + 1, all.end()));
        StateWalk alone(reader, options_of(id));
        Ids one;
        one.walk = &alone;
        alone.run_to(id, one);
        EXPECT_EQ(one.ids, List{all[at]});
    }
    EXPECT_THROW(ids(reader, "none-all", {.after = parse_crash_state(digits + "aea-77-n+0.1")}),
                 Error);
}

TEST_F(States, IdsThatAreNone)
{
    for (const char *text :
         {"", "x", "12345678-aea-1-n+", "12345678-aea-1", "12345678-zea-1-n", "1234567-aea-1-n",
          "12345678-aea-1-q", "12345678-aea-1-n+1", "12345678-aea-1-n+2.1+1.1", "12345678-aea-1-r1",
          "12345678-aea-99999999999999999999-n", "12345678-aea-1-n ", "1234567G-aea-1-n",
          "12345678-aea-1-nu", "12345678-aea-1-nw1u2", "12345678-aea-1-u4"})
        EXPECT_THROW(parse_crash_state(text), Error) << text;
    const trace::TraceReader reader = made(kTwoLines);
    const std::string digits = reader.recording().event_digest.substr(0, 8);
    const auto run = [&](const std::string &text) {
        const CrashState id = parse_crash_state(text);
        StateWalk walk(reader, options_of(id));
        Ids ids;
        ids.walk = &walk;
        walk.run_to(id, ids);
        return ids.ids;
    };
    EXPECT_EQ(run(digits + "-aea-4-n+1.2"), List{"aea-4-n+1.2"});
    EXPECT_EQ(run(digits + "-aea-0-a"), List{"aea-0-a"});
    for (const char *rest : {"-aea-4-n+1.3", "-aea-4-n+2.1", "-aea-4-x6", "-aea-4-f3", "-aea-7-n"})
        try {
            run(digits + rest);
            ADD_FAILURE() << rest;
        } catch (const Error &error) {
            EXPECT_EQ(error.kind(), ErrorKind::usage) << error.what();
        }
    try {
        run("00000000-aea-4-n");
        ADD_FAILURE() << "a state of another trace";
    } catch (const Error &error) {
        EXPECT_EQ(error.kind(), ErrorKind::trace);
    }
}

TEST_F(States, StrategiesThatAreNone)
{
    for (const char *text : {"", "none", "subsets", "random", "random:", "random:x", "random:0",
                             "exhaustive:0", "subsets:0", "none-all:3", "prefix,", ",prefix",
                             "subsets:-1", "random:1.5", "random:99999999999999999999"})
        EXPECT_THROW(parse_strategies(text), Error) << text;
    EXPECT_EQ(text_of(parse_strategies("prefix,subsets:2,exhaustive,ReorderPartial")),
              "prefix,subsets:2,exhaustive:65536,random:3");
}

TEST_F(States, TheReferenceHasTheTable)
{
    const std::string page = read_file(FENCEPOST_SOURCE "/docs/reference/strategies.md");
    std::string table;
    for (const StrategyInfo &info : all_strategies()) {
        const char *where = info.points == StrategyPoints::every            ? "every crash point"
                            : info.points == StrategyPoints::failure_points ? "failure points"
                                                                            : "returns";
        table += fmt::format("| `{}{}{}` | {} | {} |\n", info.name,
                             info.argument.empty() ? "" : ":", info.argument, where, info.help);
    }
    EXPECT_NE(page.find("|---|---|---|\n" + table + "\n"), std::string::npos) << table;
}

TEST_F(States, Windows)
{
    const trace::TraceReader reader = made(R"(
op_begin 1 "one"
store pmem0+0x40 8 = 1
flush clflush pmem0+0x40
op_end 1
op_begin 2 "two"
store pmem0+0x40 8 = 2
store pmem0+0x48 8 = 2
op_end 2
checkpoint 7
store pmem0+0x50 8 = 3
flush clflush pmem0+0x40
checkpoint 8
)");
    const auto within = [&](std::string_view window) {
        return ids(reader, "all", {.window = parse_window(window, reader)});
    };
    EXPECT_EQ(ids(reader, "all"), (List{"aea-2-a", "aea-7-a", "aea-8-a", "aea-10-a", "aea-12-a"}));
    EXPECT_EQ(within("op:1"), (List{"aea-2-a", "aea-4-a"}));
    EXPECT_EQ(within("op:2"), (List{"aea-7-a", "aea-8-a"}));
    EXPECT_EQ(within("op:1-2"), (List{"aea-2-a", "aea-7-a", "aea-8-a"}));
    EXPECT_EQ(ids(reader, "returns", {.window = parse_window("op:2", reader)}),
              (List{"aea-4-a", "aea-8-a"}));
    EXPECT_EQ(within("checkpoint:7-8"), (List{"aea-8-a", "aea-10-a", "aea-11-a"}));
    EXPECT_EQ(within("checkpoint:7-"), (List{"aea-8-a", "aea-10-a", "aea-12-a"}));
    EXPECT_EQ(within("seq:5-6"), (List{"aea-6-a"}));
    EXPECT_EQ(within("seq:5-"), (List{"aea-7-a", "aea-8-a", "aea-10-a", "aea-12-a"}));
    EXPECT_EQ(within("epoch:0"), (List{"aea-2-a"}));
    EXPECT_EQ(within("epoch:1-2"), (List{"aea-7-a", "aea-8-a", "aea-10-a", "aea-12-a"}));
    for (const char *text : {"", "seq", "seq:", "seq:x", "seq:5-3", "seq:99", "op:3", "op:1-9",
                             "checkpoint:1-2", "lines:1-2", "seq:1-2-3", "epoch:-1"})
        EXPECT_THROW(parse_window(text, reader), Error) << text;
}

TEST_F(States, PowerDoesNotFailBeforeTheMark)
{
    const auto states = [&](const std::string &text) {
        const trace::TraceReader reader = made(R"(
store pmem0+0x40 8 = 1
flush clflush pmem0+0x40
checkpoint 0 ")" + text + R"("
store pmem0+0x40 8 = 2
flush clflush pmem0+0x40
)");
        return ids(reader, "all", {.window = parse_window("seq:0-", reader)});
    };
    EXPECT_EQ(states("mark"), (List{"aea-4-a", "aea-5-a"}));
    EXPECT_EQ(states("another"), (List{"aea-1-a", "aea-4-a", "aea-5-a"}));
}

// A page copied by a loop is one item, or 64 lines of 8 units.
TEST_F(States, Runs)
{
    std::string text;
    for (unsigned i = 0; i < 512; ++i)
        text += "nt_store pmem0+" + std::to_string(4096 + i * 8) + " 8 = 1 @copy+" +
                std::to_string(i % 8 * 4) + "\n";
    text += "store pmem0+0x40 8 = 1 @other\nfence sfence\n";
    const trace::TraceReader reader = made(text);
    WalkReport report;
    WalkOptions options = {.strategies = parse_strategies("subsets:1")};
    // Nothing, the run at four levels, the line; the same from everything. Then the line alone.
    EXPECT_EQ(walk(reader, options, &report).ids.size(), 2u * (1 + 7 + 1) + 4);
    EXPECT_EQ(report.runs, 1u);
    EXPECT_EQ(report.lines_in_runs, 64u);
    EXPECT_EQ(report.grouped_crash_points, 1u);
    EXPECT_EQ(report.legal.exact, std::nullopt);
    EXPECT_NEAR(report.legal.log2, 513, 1e-6);
    options.grouping = Grouping::off;
    EXPECT_EQ(walk(reader, options, &report).ids.size(), 2 * (1 + 513) + 4u);
    EXPECT_EQ(report.runs, 0u);
}

// Whatever a run's level, each of its lines is in a state that is legal by itself, and what is
// there ends at one place.
TEST_F(States, RunsAreCutAtLegalPlaces)
{
    class Cuts : public StateListener {
    public:
        void event(std::uint64_t, const trace::Event &, std::span<const std::byte>,
                   const model::InFlight &) override
        {
        }
        bool state(const StateView &state) override
        {
            const ItemTable &table = *state.items;
            for (std::uint32_t number = 0; number < table.items().size(); ++number) {
                const Item &item = table.items()[number];
                if (item.kind != Item::Kind::run)
                    continue;
                const std::uint64_t level = level_of(state, number);
                std::size_t there = 0;
                std::size_t before = 0;  // pieces of the line before
                std::size_t changes = 0; // of that
                bool starts = false;     // the first unit is there
                for (std::uint32_t at = item.first_cell; at < item.first_cell + item.cell_count;
                     ++at) {
                    const Cell &cell = table.cells()[at];
                    const model::UnitCounts counts = table.unit_counts(cell, std::span(&level, 1));
                    const model::LineChoices choices(table.in_flight(), table.line(cell));
                    EXPECT_TRUE(choices.legal(counts)) << level << " in line " << at;
                    const auto pieces = std::accumulate(counts.begin(), counts.end(), 0u);
                    changes += at != item.first_cell && pieces != before;
                    before = pieces;
                    there += pieces;
                    starts = at == item.first_cell ? counts[0] != 0 : starts;
                }
                EXPECT_LE(changes, 2u) << "level " << level;
                pieces_there[level].insert({starts, there});
            }
            return true;
        }
        // By level: whether the first unit is there, and how many pieces.
        std::map<std::uint64_t, std::set<std::pair<bool, std::size_t>>> pieces_there;
    };
    const auto cuts = [&](const std::string &text, model::ModelKind model) {
        const trace::TraceReader reader = made(text);
        StateWalk walk(
            reader, {.model = model, .strategies = parse_strategies("torn,none-all,random:400")});
        Cuts found;
        walk.run(found);
        return found.pieces_there;
    };
    std::string cached;
    std::string copied;
    for (unsigned line = 0; line < 20; ++line)
        for (unsigned unit = 0; unit < 8; ++unit) {
            const std::string place = std::to_string(4096 + line * 64 + unit * 8);
            copied += "nt_store pmem0+" + place + " 8 = 1 @copy+" + std::to_string(unit) + "\n";
            if (unit < 2) // 16 bytes of each line
                cached += "store pmem0+" + place + " 8 = 1 @set+" + std::to_string(unit) + "\n";
        }
    for (const model::ModelKind model : {model::ModelKind::adr, model::ModelKind::line})
        for (const auto &[text, total] : {std::pair{cached, 40u}, {copied, 160u}}) {
            const auto found = cuts(text, model);
            // Without the first store of a cached line there is nothing of it.
            const bool any_order = model == model::ModelKind::adr && total == 160;
            const std::size_t end = any_order ? 1 : total / 20;
            using Counts = std::set<std::pair<bool, std::size_t>>;
            EXPECT_EQ(found.at(kRunNone), (Counts{{false, 0}}));
            EXPECT_EQ(found.at(kRunFirstUnit), (Counts{{true, 1}}));
            EXPECT_EQ(found.at(kRunFirstHalf), (Counts{{true, total / 2}}));
            EXPECT_EQ(found.at(kRunAllButLastUnit), (Counts{{true, total - 1}}));
            EXPECT_EQ(found.at(kRunAllButFirstUnit), (Counts{{false, total - end}}));
            EXPECT_EQ(found.at(kRunSecondHalf), (Counts{{false, total / 2}}));
            EXPECT_EQ(found.at(kRunLastUnit), (Counts{{false, end}}));
            EXPECT_EQ(found.at(kRunLastUnit + 1), (Counts{{true, total}}));
            std::size_t behind = 0;
            for (const auto &[level, counts] : found)
                behind += level >= kRunCuts && !counts.begin()->first;
            EXPECT_GT(behind, 5u) << "random states lack the start";
            EXPECT_GT(found.size(), behind + 8 + 5) << "and the end, anywhere";
        }
}

// What is too short for a run tears as well: a wide store, also over a line's end, and a loop.
TEST_F(States, CopiesTear)
{
    const auto torn = [&](std::string_view text) { return ids(made(text), "torn"); };
    EXPECT_EQ(torn("store pmem0+0x40 16 = hex:0102030405060708090a0b0c0d0e0f10 @wide\n"),
              (List{"aea-1-n+0.1", "aea-1-a+0.1"}));
    EXPECT_EQ(torn("store pmem0+0x78 16 = hex:0102030405060708090a0b0c0d0e0f10 @wide\n"),
              (List{"aea-1-n+0.1", "aea-1-n+1.1", "aea-1-a+1.0", "aea-1-a+0.0"}));
    EXPECT_EQ(torn("nt_store pmem0+0x40 16 = hex:0102030405060708090a0b0c0d0e0f10 @wide\n"),
              (List{"aea-1-n+0.1", "aea-1-n+1.1", "aea-1-a+1.0", "aea-1-a+0.0"}));
    std::string loop;
    for (unsigned unit = 0; unit < 16; ++unit)
        loop += "store pmem0+" + std::to_string(64 + unit * 8) + " 8 = 1 @loop\n";
    EXPECT_EQ(torn(loop),
              (List{"aea-16-n+0.1", "aea-16-n+0.8", "aea-16-n+0.8+1.7", "aea-16-n+1.8",
                    "aea-16-a+0.1+1.0", "aea-16-a+1.0", "aea-16-a+1.7", "aea-16-a+0.0"}));
    // It is in flight for longer than its epoch.
    EXPECT_EQ(torn(R"(
store pmem0+0x40 16 = hex:0102030405060708090a0b0c0d0e0f10 @wide
store pmem0+0x80 8 = 1 @a
flush clflush pmem0+0x80
store pmem0+0x80 8 = 1 @a
)"),
              (List{"aea-2-n+0.1", "aea-2-a+0.1"}));
    // Fields of a structure, and a field that is written twice.
    EXPECT_EQ(torn(R"(
store pmem0+0x40 8 = 1 @a
store pmem0+0x48 8 = 2 @b
store pmem0+0x48 8 = 3 @b
store pmem0+0x100 8 = 4 @c
)"),
              List{});
    EXPECT_EQ(
        torn("store pmem0+0x40 16 = hex:0102030405060708090a0b0c0d0e0f10 @memcpy_flushcache+8 "
             "^pmem_submit_bio<submit_bio\n"),
        List{})
        << "a sector";
}

// A copy over what was just cleared.
TEST_F(States, RunsLackTheirSecondPass)
{
    std::string text;
    for (const char *kind : {"nt_store", "store"})
        for (unsigned pass = 0; pass < 2; ++pass)
            for (unsigned place = 0; place < 32; ++place)
                text += fmt::format("{} pmem0+{} 8 = {} @{}+{}\n", kind,
                                    (*kind == 's' ? 8192 : 0) + place / 2 * 64 + place % 2 * 8,
                                    pass + 1, pass ? "copy" : "clear", place % 2);
    const trace::TraceReader reader = made(text);
    class Counts : public StateListener {
    public:
        void event(std::uint64_t, const trace::Event &, std::span<const std::byte>,
                   const model::InFlight &) override
        {
        }
        bool state(const StateView &state) override
        {
            for (std::uint32_t item = 0; item < 2; ++item)
                if (const std::uint64_t level = level_of(state, item); level == kRunFirstPieces)
                    for (unsigned line = 0; line < 16; ++line) {
                        const Cell &cell = state.items->cells()[item * 16 + line];
                        const auto counts = state.items->unit_counts(cell, std::span(&level, 1));
                        EXPECT_EQ(counts, (model::UnitCounts{1, 1}));
                        ++lines;
                    }
            return true;
        }
        unsigned lines = 0;
    };
    StateWalk walk(reader, {.strategies = parse_strategies("torn")});
    Counts found;
    walk.run(found);
    EXPECT_EQ(found.lines, 2u * 2 * 16) << "both runs, alone and with everything else";
    EXPECT_EQ(ids(reader, "torn").size(), 2u * 2 * 7);
}

// What the block layer wrote is there or not, as file systems on block devices have it.
TEST_F(States, SectorsDoNotTear)
{
    std::string text;
    for (unsigned line = 0; line < 64; ++line)
        text += "store pmem0+" + std::to_string(line * 64) +
                " 8 = 1 @memcpy_flushcache+8 ^pmem_submit_bio<submit_bio\n";
    for (unsigned line = 0; line < 64; ++line)
        text += "store pmem0+" + std::to_string(8192 + line * 64) +
                " 8 = 1 @memcpy_flushcache+8 ^pmem_copy_from_iter<dax_iomap_rw\n";
    const trace::TraceReader reader = made(text);
    EXPECT_EQ(ids(reader, "torn"),
              (List{"aea-128-n+1.1", "aea-128-n+1.2", "aea-128-n+1.3", "aea-128-n+1.4",
                    "aea-128-n+1.5", "aea-128-n+1.6", "aea-128-a+1.1", "aea-128-a+1.2",
                    "aea-128-a+1.3", "aea-128-a+1.4", "aea-128-a+1.5", "aea-128-a+1.6"}));
    EXPECT_EQ(ids(reader, "subsets:1").size(), 2u * (1 + 1 + 7));
    for (const auto &[id, levels] :
         walk(reader, {.strategies = parse_strategies("random:200")}).levels)
        for (const ItemLevel &each : levels)
            EXPECT_TRUE(each.item == 1 || each.level == 1) << id;
}

// Where a torn write is legal, few of them are generated.
TEST_F(States, TornRunsAreSampled)
{
    std::string text;
    for (unsigned i = 0; i < 200; ++i) {
        for (unsigned line = 0; line < 16; ++line)
            text += "store pmem0+" + std::to_string(line * 64) + " 8 = 1 @a\nflush clwb pmem0+" +
                    std::to_string(line * 64) + " @f\n";
        text += "fence sfence @f\n";
    }
    const trace::TraceReader reader = made(text);
    const auto states = [&](std::string_view strategy, Tearing tearing) {
        return ids(reader, strategy, {.tearing = tearing}).size();
    };
    EXPECT_EQ(states("torn", Tearing::all), 200u * 12);
    EXPECT_EQ(states("subsets:1", Tearing::all), 200u * 16 + 2);
    EXPECT_GT(states("torn", Tearing::sampled), 0u);
    EXPECT_LT(states("torn", Tearing::sampled), 200u * 12 / 16);
    EXPECT_GT(states("subsets:1", Tearing::sampled), 200u * 4 + 2);
    EXPECT_LT(states("subsets:1", Tearing::sampled), 200u * 5);
}

TEST_F(States, RunsEndWhereTheWritingChanges)
{
    std::string text;
    for (unsigned line = 0; line < 20; ++line) // another site in the middle
        text += "store pmem0+" + std::to_string(line * 64) + " 8 = 1 @" + (line == 10 ? "b" : "a") +
                "\n";
    for (unsigned line = 0; line < 4; ++line) // a gap of one line each
        text += "store pmem0+" + std::to_string(8192 + line * 128) + " 8 = 1 @c\n";
    const trace::TraceReader reader = made(text);
    WalkReport report;
    walk(reader, {.strategies = parse_strategies("random:1")}, &report);
    EXPECT_EQ(report.runs, 0u);
    walk(reader, {.strategies = parse_strategies("random:1"), .grouping = Grouping::run}, &report);
    EXPECT_EQ(report.runs, 2u);
    EXPECT_EQ(report.lines_in_runs, 19u);
}

// An operation has returned and the next has not begun: that pair of image and promise is one of
// its own. Where the promise stays what it was there is nothing to see.
TEST_F(States, WhereThePromiseChanges)
{
    const trace::TraceReader reader = made(R"(
op_begin 1 "create a"
store pmem0+0x40 8 = 1
flush clwb pmem0+0x40
op_end 1
op_begin 2 "unlink a"
store pmem0+0x80 8 = 1
fence sfence
op_end 2
)");
    EXPECT_EQ(ids(reader, "all"), (List{"aea-3-a", "aea-4-a", "aea-6-a", "aea-7-a", "aea-8-a"}));
    const PromiseAt second_begins = [](std::uint64_t seq) { return std::uint64_t{seq > 4}; };
    EXPECT_EQ(ids(reader, "all", {.promise = second_begins}),
              (List{"aea-4-a", "aea-6-a", "aea-8-a"}));
    const PromiseAt never = [](std::uint64_t) { return std::uint64_t{0}; };
    EXPECT_EQ(ids(reader, "all", {.promise = never}), (List{"aea-6-a", "aea-8-a"}));
}

// A path counts as new where the window is, not where the trace begins.
TEST_F(States, FailurePointsInAWindow)
{
    const trace::TraceReader reader = made(R"(
store pmem0+0x40 8 = 1 @a
flush clwb pmem0+0x40 @f ^x
store pmem0+0x40 8 = 2 @a
flush clwb pmem0+0x40 @f ^x
store pmem0+0x40 8 = 3 @a
flush clwb pmem0+0x40 @f ^x
)");
    EXPECT_EQ(ids(reader, "prefix"), (List{"aea-1-a"}));
    EXPECT_EQ(ids(reader, "prefix", {.window = {.first_seq = 2}}), (List{"aea-3-a"}));
    EXPECT_EQ(ids(reader, "prefix", {.window = {.first_seq = 4, .last_seq = 5}}), List{});
    EXPECT_EQ(ids(reader, "prefix", {.window = {.first_seq = 4}}), (List{"aea-5-a"}));
}

// mfence where a kernel guards against speculation.
TEST_F(States, IncidentalFencesCountAsLittleAsLockedInstructions)
{
    const trace::TraceReader reader = made(R"(
store pmem0+0x40 8 = 1 @create+1
flush clwb pmem0+0x40 @create+2
fence mfence @strncpy_from_user+8
store pmem0+0x80 8 = 2 @create+3
fence sfence @create+4
)");
    const auto with = [&](const std::vector<std::string> &named) {
        WalkOptions options = {.strategies = parse_strategies("exhaustive")};
        options.incidental = {reader, trace::incidental_functions(named)};
        return options;
    };
    WalkReport report;
    const WalkOptions of_linux = with({});
    const std::string digest = of_linux.incidental.digest();
    ASSERT_EQ(digest.size(), 8u);
    EXPECT_EQ(of_linux.incidental.functions(),
              (std::vector<trace::IncidentalFences::Function>{{"strncpy_from_user", 1}}));
    const Ids found = walk(reader, of_linux, &report);
    EXPECT_EQ(report.incidental_fences, 1u);
    // Both lines are in flight before the sfence, which guarantees the first.
    const std::string prefix = "aea." + digest + "-";
    EXPECT_EQ(found.ids, (List{prefix + "4-x0", prefix + "4-x1", prefix + "4-x2", prefix + "4-x3",
                               prefix + "5-x0", prefix + "5-x1"}));
    // An id names its set, and is good for no other.
    const std::string digits = reader.recording().event_digest.substr(0, 8) + "-";
    const CrashState id = parse_crash_state(digits + found.ids[2]);
    EXPECT_EQ(id_of(id), digits + found.ids[2]);
    EXPECT_NO_THROW(StateWalk(reader, of_linux).check_id(id));
    EXPECT_THROW(StateWalk(reader, with({"none"})).check_id(id), Error);
    const Ids all_count = walk(reader, with({"none"}), &report);
    EXPECT_EQ(report.incidental_fences, 0u);
    EXPECT_EQ(all_count.ids, (List{"aea-2-x0", "aea-2-x1", "aea-5-x0", "aea-5-x1"}));
    EXPECT_EQ(walk(reader, with({"none", "create"}), &report).ids.size(), 2u + 2u);
    EXPECT_EQ(report.incidental_fences, 1u);
}

TEST_F(States, CountsAreExactOrLogarithms)
{
    StateCount sum = {.exact = 0};
    sum.add({.exact = 5, .log2 = 2.32});
    EXPECT_EQ(sum.exact, 5u);
    sum.add({.exact = UINT64_MAX - 1, .log2 = 64});
    EXPECT_EQ(sum.exact, std::nullopt);
    EXPECT_NEAR(sum.log2, 64, 1e-9);
    sum.add({.log2 = 64});
    EXPECT_NEAR(sum.log2, 65, 1e-9);
}

TEST_F(States, TracesThatAreNotComplete)
{
    for (const char *text :
         {"store pmem0+0x40 8 = 1\nrecording running",
          "store pmem0+0x40 8 = 1\nrecording truncated",
          "quality incomplete_lines 3 error \"lines differ\"\nstore pmem0+0x40 8 = 1"})
        try {
            const trace::TraceReader reader = made(text);
            StateWalk walk(reader, {});
            ADD_FAILURE() << text;
        } catch (const Error &error) {
            EXPECT_EQ(error.kind(), ErrorKind::trace) << error.what();
        }
    const trace::TraceReader reader =
        made("quality incomplete_lines 0 error \"lines differ\"\nquality odd 3 warning \"\"\nstore "
             "pmem0+0x40 8 = 1");
    EXPECT_NO_THROW(StateWalk(reader, {}));
}

} // namespace
} // namespace fencepost::states
