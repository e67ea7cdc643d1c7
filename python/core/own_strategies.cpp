// SPDX-License-Identifier: GPL-2.0-or-later
// Strategies that are Python functions: the crash point that they are given, and the choices that
// they make.
#include <string>
#include <unordered_set>

#include <pybind11/functional.h>

#include "python/core/own.h"
#include "replayer/states/level_path.h"
#include "replayer/states/own_strategy.h"

namespace fencepost::python {

using namespace fencepost::states;

namespace {

constexpr const char *kKinds[] = {"line", "unit", "mixed", "run"};

// A crash point for as long as its strategy runs.
class Point {
public:
    Point(const CrashPoint &point, const ItemTable &table, const OwnStrategy::Emit &emit)
        : point_(point), table_(&table), emit_(&emit)
    {
    }

    void end() { table_ = nullptr; }
    const CrashPoint &at() const { return point_; }

    // Rows of kind, levels, first line, lines, and the first and the last piece.
    py::list items() const
    {
        py::list rows;
        for (const Item &item : table().items()) {
            const model::InFlightLine &first = line(item.first_cell);
            const model::InFlightLine &last = line(item.first_cell + item.cell_count - 1);
            model::Piece ends[2] = {of(item, first, true), of(item, last, false)};
            rows.append(py::make_tuple(kKinds[static_cast<unsigned>(item.kind)], item.levels,
                                       first.line, item.cell_count, piece_row(first, ends[0]),
                                       piece_row(last, ends[1])));
        }
        return rows;
    }

    // Of one item, in order.
    py::list pieces(std::size_t number) const
    {
        const Item &item = checked(number);
        py::list rows;
        for (std::uint32_t cell = item.first_cell; cell < item.first_cell + item.cell_count; ++cell)
            for_each_piece(item, line(cell), [&](const model::Piece &piece) {
                rows.append(piece_row(line(cell), piece));
            });
        return rows;
    }

    // The level of a run of lines that is cut behind so many lines and units of the next.
    std::uint64_t level_of_cut(std::size_t number, std::uint64_t lines, std::uint64_t units,
                               bool behind) const
    {
        const Item &item = checked(number);
        const std::uint64_t level = ItemTable::level_of_cut(
            {behind ? RunPart::Kind::behind_cut : RunPart::Kind::before_cut, lines, units});
        if (item.kind != Item::Kind::run || !ItemTable::has_level(item, level))
            fail(ErrorKind::usage, "item {} cannot be cut behind {} lines and {} units", number,
                 lines, units);
        return level;
    }

    // Emits the state with these levels, the other items at none or all. False: enough.
    bool choose(bool all, const std::vector<std::pair<std::size_t, std::uint64_t>> &levels) const
    {
        Levels chosen = levels_of(table(), all ? Base::all : Base::none);
        for (const auto &[number, level] : levels) {
            const Item &item = checked(number);
            if (!ItemTable::has_level(item, level))
                fail(ErrorKind::usage, "item {} before event {} has no level {}: it has 0 to {}",
                     number, point_.seq, level, item.levels - 1);
            chosen[number] = level;
        }
        const Choice choice = listed_choice(table(), chosen);
        const py::gil_scoped_release release;
        return (*emit_)(choice);
    }

private:
    const ItemTable &table() const
    {
        if (!table_)
            fail(ErrorKind::usage, "a crash point's items are there only while its strategy runs");
        return *table_;
    }

    const Item &checked(std::size_t number) const
    {
        if (number >= table().items().size())
            fail(ErrorKind::usage, "there is no item {} before event {}: there are {}", number,
                 point_.seq, table().items().size());
        return table().items()[number];
    }

    const model::InFlightLine &line(std::uint32_t cell) const
    {
        return table().line(table().cells()[cell]);
    }

    template <typename Visit>
    void for_each_piece(const Item &item, const model::InFlightLine &line, Visit &&visit) const
    {
        table().in_flight().for_each_piece(line, [&](const model::Piece &piece) {
            if (item.kind != Item::Kind::unit || piece.unit() == item.unit)
                visit(piece);
        });
    }

    model::Piece of(const Item &item, const model::InFlightLine &line, bool first) const
    {
        if (item.kind != Item::Kind::unit)
            return table().in_flight().piece(first ? line.first : line.last);
        std::vector<model::Piece> pieces;
        for_each_piece(item, line, [&](const model::Piece &piece) { pieces.push_back(piece); });
        return first ? pieces.front() : pieces.back();
    }

    static py::tuple piece_row(const model::InFlightLine &line, const model::Piece &piece)
    {
        return py::make_tuple(piece.seq, line.line * trace::kLineBytes + piece.offset,
                              unsigned{piece.size}, std::uint64_t{piece.value}, piece.site,
                              piece.stack, bool(piece.non_temporal), unsigned{piece.vcpu});
    }

    const CrashPoint point_;
    const ItemTable *table_;
    const OwnStrategy::Emit *emit_;
};

// Of choices at one crash point: a generator that draws without end would go on for ever where
// there are few of them.
class Repeats {
public:
    bool too_many(const Choice &choice)
    {
        in_a_row_ =
            known_.insert(std::hash<std::string>()(text_of(choice))).second ? 0 : in_a_row_ + 1;
        return in_a_row_ >= kMostInARow;
    }

private:
    static constexpr unsigned kMostInARow = 1000;

    std::unordered_set<std::size_t> known_;
    unsigned in_a_row_ = 0;
};

class FunctionStrategy : public OwnStrategy {
public:
    FunctionStrategy(std::string name, py::handle function, Callback &user)
        : OwnStrategy(std::move(name)), function_(function), user_(user)
    {
    }

    void choose(const CrashPoint &point, const ItemTable &items, const Emit &emit) override
    {
        // What the walk throws goes through the function, and comes out as what it was.
        std::exception_ptr of_walk;
        Repeats repeats;
        const Emit watched = [&](const Choice &choice) {
            try {
                return !repeats.too_many(choice) && emit(choice);
            } catch (...) {
                of_walk = std::current_exception();
                throw;
            }
        };
        const auto given = std::make_shared<Point>(point, items, watched);
        try {
            user_.call(
                [&] {
                    try {
                        function_(given);
                    } catch (...) {
                        given->end();
                        throw;
                    }
                    given->end();
                },
                [&] { return of_walk != nullptr; });
        } catch (const Error &) {
            if (!of_walk)
                throw;
        }
        if (of_walk)
            std::rethrow_exception(of_walk);
    }

private:
    const py::handle function_;
    Callback &user_;
};

} // namespace

std::vector<Strategy> strategies(const Options &options, Callback &user)
{
    using Given = std::variant<std::string, std::pair<std::string, py::object>>;
    std::vector<Strategy> all;
    for (const Given &each :
         options.optional<std::vector<Given>>("strategies").value_or(std::vector<Given>())) {
        if (const auto *text = std::get_if<std::string>(&each)) {
            for (Strategy &strategy : parse_strategies(*text))
                all.push_back(std::move(strategy));
        } else {
            const auto &[name, function] = std::get<1>(each);
            all.push_back(make_strategy(
                std::make_shared<FunctionStrategy>(name, py::handle(function), user)));
        }
    }
    return all;
}

void add_own_classes(py::module_ &module)
{
    add_visit(module);
    py::class_<Point, std::shared_ptr<Point>>(module, "Point")
        .def_property_readonly("seq", [](const Point &point) { return point.at().seq; })
        .def_property_readonly("epoch", [](const Point &point) { return point.at().epoch; })
        .def_property_readonly("since", [](const Point &point) { return point.at().since; })
        .def_property_readonly("boundary", [](const Point &point) { return point.at().boundary; })
        .def_property_readonly("promise", [](const Point &point) { return point.at().promise; })
        .def("items", &Point::items)
        .def("pieces", &Point::pieces, py::arg("item"))
        .def("level_of_cut", &Point::level_of_cut, py::arg("item"), py::arg("lines"),
             py::arg("units"), py::arg("behind"))
        .def("choose", &Point::choose, py::arg("all"), py::arg("levels"));
}

} // namespace fencepost::python
