// SPDX-License-Identifier: GPL-2.0-or-later
// Runs of lines as one item, and writes that tear.
#include <map>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "states_fixture.h"

namespace fencepost::states {
namespace {

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

// By level of a run: whether its first unit is there, and how many pieces.
using PieceCounts = std::set<std::pair<bool, std::size_t>>;

// Each line is in a state that is legal by itself, and what is there ends at one place.
class Cuts : public StateListener {
public:
    void event(std::uint64_t, const trace::Event &, std::span<const std::byte>,
               const model::InFlight &) override
    {
    }
    bool state(const StateView &state) override
    {
        for (std::uint32_t number = 0; number < state.items->items().size(); ++number)
            if (state.items->items()[number].kind == Item::Kind::run)
                run(*state.items, state.items->items()[number], level_of(state, number));
        return true;
    }

    std::map<std::uint64_t, PieceCounts> pieces_there;

private:
    void run(const ItemTable &table, const Item &item, std::uint64_t level)
    {
        std::size_t there = 0;
        std::size_t before = 0;  // pieces of the line before
        std::size_t changes = 0; // of that
        bool starts = false;     // the first unit is there
        for (std::uint32_t at = item.first_cell; at < item.first_cell + item.cell_count; ++at) {
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
};

// 20 lines: 16 bytes of each, cached, or all of each, copied.
std::string cached_lines()
{
    std::string text;
    for (unsigned line = 0; line < 20; ++line)
        for (unsigned unit = 0; unit < 2; ++unit)
            text +=
                fmt::format("store pmem0+{} 8 = 1 @set+{}\n", 4096 + line * 64 + unit * 8, unit);
    return text;
}

std::string copied_lines()
{
    std::string text;
    for (unsigned place = 0; place < 160; ++place)
        text += fmt::format("nt_store pmem0+{} 8 = 1 @copy+{}\n", 4096 + place * 8, place % 8);
    return text;
}

TEST_F(States, RunsAreCutAtLegalPlaces)
{
    const auto cuts = [&](const std::string &text, model::ModelKind model) {
        const trace::TraceReader reader = made(text);
        StateWalk walk(
            reader, {.model = model, .strategies = parse_strategies("torn,none-all,random:400")});
        Cuts found;
        walk.run(found);
        return found.pieces_there;
    };
    for (const model::ModelKind model : {model::ModelKind::adr, model::ModelKind::line})
        for (const auto &[text, total] : {std::pair{cached_lines(), 40u}, {copied_lines(), 160u}}) {
            const auto found = cuts(text, model);
            // Without the first store of a cached line there is nothing of it.
            const bool any_order = model == model::ModelKind::adr && total == 160;
            const std::size_t end = any_order ? 1 : total / 20;
            EXPECT_EQ(found.at(kRunNone), (PieceCounts{{false, 0}}));
            EXPECT_EQ(found.at(kRunFirstUnit), (PieceCounts{{true, 1}}));
            EXPECT_EQ(found.at(kRunFirstHalf), (PieceCounts{{true, total / 2}}));
            EXPECT_EQ(found.at(kRunAllButLastUnit), (PieceCounts{{true, total - 1}}));
            EXPECT_EQ(found.at(kRunAllButFirstUnit), (PieceCounts{{false, total - end}}));
            EXPECT_EQ(found.at(kRunSecondHalf), (PieceCounts{{false, total / 2}}));
            EXPECT_EQ(found.at(kRunLastUnit), (PieceCounts{{false, end}}));
            EXPECT_EQ(found.at(kRunLastUnit + 1), (PieceCounts{{true, total}}));
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

} // namespace
} // namespace fencepost::states
