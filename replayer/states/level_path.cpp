// SPDX-License-Identifier: GPL-2.0-or-later
// See level_path.h.
#include "replayer/states/level_path.h"

#include <algorithm>
#include <optional>

#include "base/error.h"

namespace fencepost::states {

using model::LineChoices;
using model::Piece;
using model::UnitCounts;

namespace {

// Where an item gets to on its way.
struct Stop {
    std::uint64_t level;
    std::uint64_t seq;
    bool persists;
};

class ItemPath {
public:
    ItemPath(const ItemTable &table, const Item &item) : table_(table), item_(item) {}

    std::vector<Stop> stops(std::uint64_t from, std::uint64_t to)
    {
        switch (item_.kind) {
        case Item::Kind::chain:
        case Item::Kind::unit:
            go_along_stores(from, to);
            break;
        case Item::Kind::mixed:
            go_through_line(from, to);
            break;
        case Item::Kind::run:
            go_through_run(from, to);
            break;
        }
        return std::move(stops_);
    }

private:
    const Cell &cell(std::uint64_t place = 0) const
    {
        return table_.cells()[item_.first_cell + static_cast<std::uint32_t>(place)];
    }
    const model::InFlightLine &line() const { return table_.line(cell()); }

    void jump(std::uint64_t from, std::uint64_t to)
    {
        stops_.push_back({to, first_seq(0), to > from});
    }
    // Of a line of a run.
    std::uint64_t first_seq(std::uint64_t place) const
    {
        return table_.in_flight().piece(table_.line(cell(place)).first).seq;
    }

    // A level is so many stores.
    void go_along_stores(std::uint64_t from, std::uint64_t to)
    {
        std::vector<std::uint64_t> seqs;
        table_.in_flight().for_each_piece(line(), [&](const Piece &piece) {
            if (item_.kind == Item::Kind::unit ? piece.unit() == item_.unit : !piece.joined)
                seqs.push_back(piece.seq);
        });
        CHECK(seqs.size() + 1 == item_.levels, "a level for each store");
        for (std::uint64_t level = from; level < to; ++level)
            stops_.push_back({level + 1, seqs[level], true});
        for (std::uint64_t level = from; level > to; --level)
            stops_.push_back({level - 1, seqs[level - 1], false});
    }

    // Piece by piece where one state has all that the other has: the legal sets of pieces are what
    // a partial order closes downwards, so their unions and intersections are legal too.
    void go_through_line(std::uint64_t from, std::uint64_t to)
    {
        const LineChoices choices(table_.in_flight(), line());
        const UnitCounts start = choices.at(from);
        const UnitCounts goal = choices.at(to);
        const auto has_all = [](const UnitCounts &more, const UnitCounts &less) {
            return std::equal(more.begin(), more.end(), less.begin(), std::greater_equal<>());
        };
        const bool adds = has_all(goal, start);
        if (!adds && !has_all(start, goal)) {
            jump(from, to);
            return;
        }
        std::vector<Piece> between;
        UnitCounts seen = {};
        table_.in_flight().for_each_piece(line(), [&](const Piece &piece) {
            const std::uint32_t place = seen[piece.unit()]++;
            if ((place < start[piece.unit()]) != (place < goal[piece.unit()]))
                between.push_back(piece);
        });
        if (!adds)
            std::reverse(between.begin(), between.end());
        UnitCounts counts = start;
        for (const Piece &piece : between) {
            counts[piece.unit()] += adds ? 1 : UINT32_MAX;
            stops_.push_back({choices.number_of(counts), piece.seq, adds});
        }
    }

    // How much of the run, counted from the end where it is cut: lines, and whether more.
    struct Reach {
        std::uint64_t lines = 0;
        bool more = false;
    };
    std::optional<Reach> reach(std::uint64_t level, RunPart::Kind kind) const
    {
        const std::uint64_t lines = item_.cell_count;
        const bool behind = kind == RunPart::Kind::behind_cut;
        if (level == 0 || level == item_.levels - 1)
            return Reach{(level == 0) != behind ? 0 : lines, false};
        const RunPart part = table_.part_at(item_, level);
        if (part.kind != kind)
            return std::nullopt;
        return Reach{part.lines, part.units != 0};
    }

    // Line by line, from where it is cut.
    void go_through_run(std::uint64_t from, std::uint64_t to)
    {
        using Kind = RunPart::Kind;
        if (from == to)
            return;
        for (const Kind kind : {Kind::before_cut, Kind::behind_cut})
            if (const auto start = reach(from, kind), goal = reach(to, kind);
                start && goal && item_.levels > 2) {
                cut_lines(*start, *goal, kind);
                stops_.push_back({to, last_seq(*start, *goal), more_persists(*start, *goal, kind)});
                return;
            }
        jump(from, to);
    }

    static bool goes_further(const Reach &start, const Reach &goal)
    {
        return goal.lines > start.lines || (goal.lines == start.lines && goal.more && !start.more);
    }
    static bool more_persists(const Reach &start, const Reach &goal, RunPart::Kind kind)
    {
        return goes_further(start, goal) == (kind == RunPart::Kind::before_cut);
    }
    // Of the line that changes last.
    std::uint64_t last_seq(const Reach &start, const Reach &goal) const
    {
        const bool before = goes_further(start, goal) && !goal.more;
        return first_seq(std::min<std::uint64_t>(goal.lines - before, item_.cell_count - 1));
    }

    // The cuts between two lines that lie between, without the ends.
    void cut_lines(const Reach &start, const Reach &goal, RunPart::Kind kind)
    {
        const bool persists = more_persists(start, goal, kind);
        const auto stop_at = [&](std::uint64_t lines, std::uint64_t changed) {
            if (lines != 0 && lines != item_.cell_count)
                stops_.push_back(
                    {ItemTable::level_of_cut({kind, lines}), first_seq(changed), persists});
        };
        for (std::uint64_t lines = start.lines + 1; lines <= goal.lines; ++lines)
            if (lines != goal.lines || goal.more)
                stop_at(lines, lines - 1);
        if (start.lines > goal.lines || (start.lines == goal.lines && start.more && !goal.more)) {
            const std::uint64_t least = goal.lines + 1;
            for (std::uint64_t lines = start.lines; lines >= least; --lines)
                if (lines != start.lines || start.more)
                    stop_at(lines, std::min<std::uint64_t>(lines, item_.cell_count - 1));
        }
    }

    const ItemTable &table_;
    const Item &item_;
    std::vector<Stop> stops_;
};

struct OrderedStep {
    LevelChange::Step step;
    std::uint64_t seq;
    bool persists;
};

// What is added comes first, as it was stored; what is lost, the other way round. A way through
// lines that were not written one after the other keeps its own order.
void keep_order(std::vector<Stop> &stops)
{
    for (std::size_t i = 1; i < stops.size(); ++i)
        stops[i].seq = stops[i].persists ? std::max(stops[i].seq, stops[i - 1].seq)
                                         : std::min(stops[i].seq, stops[i - 1].seq);
}

bool comes_before(const OrderedStep &a, const OrderedStep &b)
{
    if (a.persists != b.persists)
        return a.persists;
    return a.persists ? a.seq < b.seq : a.seq > b.seq;
}

} // namespace

Levels levels_of(const StateView &state)
{
    Levels levels = levels_of(*state.items, state.levels.base);
    for (const ItemLevel &each : state.levels.exceptions)
        levels[each.item] = each.level;
    return levels;
}

Levels levels_of(const ItemTable &table, Base base)
{
    Levels levels(table.items().size());
    if (base == Base::all)
        for (std::size_t item = 0; item < levels.size(); ++item)
            levels[item] = table.items()[item].levels - 1;
    return levels;
}

Choice listed_choice(const ItemTable &table, const Levels &levels)
{
    Choice shortest;
    for (const Base base : {Base::none, Base::all}) {
        const Levels usual = levels_of(table, base);
        Choice choice = {.base = base};
        for (std::uint32_t item = 0; item < levels.size(); ++item)
            if (levels[item] != usual[item])
                choice.listed.push_back({item, levels[item]});
        if (base == Base::none || choice.listed.size() < shortest.listed.size())
            shortest = std::move(choice);
    }
    return shortest;
}

LevelPath::LevelPath(const ItemTable &table, const Levels &from, const Levels &to) : from_(from)
{
    CHECK(from.size() == table.items().size() && to.size() == from.size(), "levels of all items");
    std::vector<OrderedStep> steps;
    for (std::uint32_t number = 0; number < from.size(); ++number) {
        if (from[number] == to[number])
            continue;
        std::vector<Stop> stops =
            ItemPath(table, table.items()[number]).stops(from[number], to[number]);
        keep_order(stops);
        std::uint32_t place = 0;
        for (const Stop &stop : stops)
            steps.push_back({{number, place++, stop.level}, stop.seq, stop.persists});
    }
    std::stable_sort(steps.begin(), steps.end(), comes_before);
    for (const OrderedStep &each : steps) {
        if (changes_.empty() || changes_.back().seq != each.seq ||
            changes_.back().persists != each.persists)
            changes_.push_back({each.seq, each.persists});
        changes_.back().steps.push_back(each.step);
    }
}

Levels LevelPath::with(std::size_t count, std::span<const std::size_t> others) const
{
    Levels levels = from_;
    std::vector<std::uint32_t> reached(from_.size()); // place + 1
    const auto take = [&](const LevelChange &change) {
        for (const LevelChange::Step &step : change.steps)
            if (step.place >= reached[step.item]) {
                reached[step.item] = step.place + 1;
                levels[step.item] = step.level;
            }
    };
    for (std::size_t i = 0; i < count; ++i)
        take(changes_[i]);
    for (const std::size_t i : others)
        take(changes_[i]);
    return levels;
}

} // namespace fencepost::states
