// SPDX-License-Identifier: GPL-2.0-or-later
// Pairs of image and promise: those of the crash points that a walk looks at against those of all
// crash points, and the label "relies on an incidental locked instruction" against its definition,
// which is about bytes.
#pragma once

#include <map>
#include <stdexcept>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <fmt/core.h>

#include "replayer/states/crash_points.h"
#include "replayer/states/enumeration.h"
#include "replayer/states/legality.h"
#include "replayer/states/strategy.h"
#include "tests/model/model_states.h"
#include "tests/model/small_trace.h"

namespace fencepost::model {

class Difference : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// What goes wrong on purpose, to see that the comparison notices.
enum class Fault {
    none,
    label_at_epoch_end, // the label compares with the images of the same crash point only
    label_by_piece,     // the label compares sets of pieces
    store_before_fence, // a locked instruction's store is recorded before its fence
    no_point_at_return, // crash points where the promise changes are left out
};

struct PairTotals {
    std::uint64_t pairs = 0;
    std::uint64_t points = 0;
    std::uint64_t labels = 0;
    std::uint64_t incidental = 0;
    std::uint64_t bytes_alone =
        0;                     // states without a label only because another set has their bytes
    std::uint64_t of_runs = 0; // states with runs as items
};

// Sets of pieces that give the same bytes have the same number: the smallest of them.
class ImageNumbers {
public:
    using PieceSet = ReferenceModel::PieceSet;
    using StateSet = ReferenceModel::StateSet;

    ImageNumbers(const ReferenceModel &reference, std::span<const PieceSet> sets)
    {
        std::vector<ReferenceModel::Image> images;
        images.reserve(sets.size()); // they stay where they are
        std::unordered_map<std::string_view, PieceSet> known;
        for (const PieceSet set : sets) {
            images.push_back(reference.image(set));
            const std::string_view bytes(reinterpret_cast<const char *>(images.back().data()),
                                         images.back().size());
            numbers_[set] = known.emplace(bytes, set).first->second;
        }
    }

    PieceSet of(PieceSet set) const { return numbers_[set]; }
    StateSet of(const StateSet &sets) const
    {
        StateSet images;
        for (std::size_t set = sets._Find_first(); set < sets.size(); set = sets._Find_next(set))
            images.set(numbers_[set]);
        return images;
    }

private:
    std::array<PieceSet, std::size_t{1} << ReferenceModel::kMaxPieces> numbers_ = {};
};

// The states of every crash point as the reference has them.
struct AllStates {
    std::vector<ReferenceModel::StateSet> sets;
    std::vector<ReferenceModel::StateSet> images;

    AllStates(std::vector<ReferenceModel::StateSet> of_points, const ImageNumbers &numbers)
        : sets(std::move(of_points))
    {
        for (const ReferenceModel::StateSet &each : sets)
            images.push_back(numbers.of(each));
    }
};

class PromisedStates {
public:
    using StateSet = ReferenceModel::StateSet;

    // `coarse`: only operations change the promise, system calls and checkpoints do not.
    // `instructions`: as for ModelStates.
    PromisedStates(std::span<const trace::Event> events, std::span<const std::size_t> instructions,
                   const ReferenceModel &reference, const ImageNumbers &numbers, ModelKind kind,
                   bool coarse, Fault fault)
        : events_(events), instructions_(instructions), reference_(reference), numbers_(numbers),
          kind_(kind), coarse_(coarse), fault_(fault)
    {
        promises_.push_back(0);
        for (const trace::Event &event : events)
            promises_.push_back(promises_.back() + changes(event));
    }

    // `strict`: if locked instructions count as well; without it no label is looked at.
    void compare(FenceRule rule, const AllStates &expected, const AllStates *strict,
                 PairTotals &totals)
    {
        rule_ = rule;
        expected_ = &expected;
        strict_ = strict;
        std::map<std::uint64_t, StateSet> all;
        std::map<std::uint64_t, StateSet> in_flight;
        for (std::size_t point = 0; point <= events_.size(); ++point) {
            all[promises_[point]] |= expected.images[point];
            // One state: nothing is in flight.
            if (expected.sets[point].count() > 1)
                in_flight[promises_[point]] |= expected.images[point];
        }
        if (strict)
            until_ = {of_promise_until(strict->sets), of_promise_until(strict->images)};
        found_.clear();
        clean_.clear();
        walk(totals);
        for (const auto &[promise, images] : in_flight)
            if ((images & ~found_[promise]).any())
                differ("a pair of image and promise that the walk does not have");
        for (const auto &[promise, images] : found_) {
            if ((images & ~all[promise]).any())
                differ("a pair of image and promise that no crash point has");
            totals.pairs += images.count();
        }
        if (strict && fault_ == Fault::none)
            compare_pairs(*strict);
    }

private:
    // The label of an image is that of all its states together: crash points after a state's own
    // count as well, as far as a walk comes by them.
    void compare_pairs(const AllStates &strict)
    {
        std::map<std::uint64_t, StateSet> architectural;
        for (std::size_t point = 0; point <= events_.size(); ++point)
            if (expected_->sets[point].count() > 1)
                architectural[promises_[point]] |= strict.images[point];
        for (const auto &[promise, images] : found_)
            if ((images & architectural[promise] & ~clean_[promise]).any())
                differ("a label on all states of a pair that is architectural");
    }

    bool changes(const trace::Event &event) const
    {
        using trace::MarkerKind;
        if (event.kind != trace::EventKind::marker)
            return false;
        const MarkerKind kind = event.marker_kind();
        return kind == MarkerKind::op_begin || kind == MarkerKind::op_end ||
               (!coarse_ && (kind == MarkerKind::syscall_enter ||
                             kind == MarkerKind::syscall_exit || kind == MarkerKind::checkpoint));
    }

    // At each crash point, what it and those before it have under its promise.
    std::vector<StateSet> of_promise_until(const std::vector<StateSet> &states) const
    {
        std::vector<StateSet> until = states;
        for (std::size_t point = 1; point < until.size(); ++point)
            if (promises_[point] == promises_[point - 1])
                until[point] |= until[point - 1];
        return until;
    }

    [[noreturn]] void differ(const char *what, std::optional<std::uint64_t> seq = {}) const
    {
        throw Difference(fmt::format("{}{}, model {}, fences {}, {} promise", what,
                                     seq ? fmt::format(", crash before event {}", *seq) : "",
                                     name_of(kind_), name_of(rule_), coarse_ ? "coarse" : "fine"));
    }

    states::PromiseAt promise() const
    {
        if (!coarse_)
            return {}; // the walk's own idea of it
        return [this](std::uint64_t seq) { return promises_[seq]; };
    }

    // As ImageWalk does it.
    void walk(PairTotals &totals)
    {
        static const auto everything = states::parse_strategies("exhaustive:1000000,torn");
        static const auto of_runs = states::parse_strategies("exhaustive:64,torn,random:4");
        const std::span<const std::byte> wide = SmallTraces::wide_values();
        PersistenceModel model(kind_, rule_);
        const InFlight &in_flight = model.in_flight();
        states::CrashPoints points(model, {}, {}, promise(), {});
        std::array<std::byte, 4 *trace::kLineBytes> guaranteed = {};
        const auto line_bytes = [&](std::uint64_t line) {
            return guaranteed.data() + (line - kSmallTraceLine) * trace::kLineBytes;
        };
        states::Legality legality(kind_, line_bytes, promise());
        ModelStates sets(reference_, instructions_);
        const auto visit = [&](const states::CrashPoint &point) {
            ++totals.points;
            legality.crash_point(in_flight);
            table_.build(in_flight, states::Grouping::off);
            look(point, everything, sets, legality, totals);
            table_.build(in_flight, states::Grouping::run);
            if (table_.runs() != 0)
                totals.of_runs += look(point, of_runs, sets, legality, totals);
        };
        for (std::size_t seq = 0; seq < events_.size(); ++seq) {
            const auto point = points.before(seq, events_[seq]);
            if (point && !(fault_ == Fault::no_point_at_return && !point->boundary))
                visit(*point);
            model.apply(seq, events_[seq], wide);
            sets.note_settled(in_flight);
            legality.event(seq, events_[seq], wide);
            for (const SettledPiece &settled : in_flight.settled()) {
                legality.settle(settled);
                settled.piece.write_to(line_bytes(settled.line));
            }
        }
        visit(*points.at_end(events_.size()));
    }

    // Every state is legal, and has the label that it should have. Returns how many there were.
    std::uint64_t look(const states::CrashPoint &point,
                       const std::vector<states::Strategy> &strategies, const ModelStates &sets,
                       states::Legality &legality, PairTotals &totals)
    {
        std::uint64_t states = 0;
        states::Enumeration enumeration(
            table_, point.seq, 1, [&](const states::ChosenLevels &levels) {
                const states::StateView state = {point, &table_, levels};
                const auto set = sets.settled() | pieces_of(state, sets);
                ++states;
                if (fault_ == Fault::none && !expected_->sets[point.seq].test(set))
                    differ("a state that is not legal", point.seq);
                found_[promises_[point.seq]].set(numbers_.of(set));
                if (strict_)
                    look_at_label(state, set, legality, totals);
                return true;
            });
        for (const states::Strategy &strategy : strategies)
            strategy.info->generate(enumeration, strategy.number);
        return states;
    }

    void look_at_label(const states::StateView &state, ReferenceModel::PieceSet set,
                       states::Legality &legality, PairTotals &totals)
    {
        const std::uint64_t seq = state.point.seq;
        const auto image = numbers_.of(set);
        const bool clean = fault_ == Fault::label_at_epoch_end ? strict_->images[seq].test(image)
                           : fault_ == Fault::label_by_piece
                               ? until_.sets[seq].test(set)
                               : legality.legal_architecturally(state);
        if (clean != until_.images[seq].test(image))
            differ(clean ? "a state without the label whose image is not architectural"
                         : "a label though an architectural crash point has the image",
                   seq);
        if (clean)
            clean_[promises_[seq]].set(image);
        ++totals.labels;
        totals.incidental += !clean;
        totals.bytes_alone += clean && !until_.sets[seq].test(set);
    }

    ReferenceModel::PieceSet pieces_of(const states::StateView &state,
                                       const ModelStates &sets) const
    {
        ReferenceModel::PieceSet set = 0;
        std::vector<std::uint64_t> levels;
        for (const states::Cell &cell : table_.cells()) {
            levels.clear();
            for (std::uint32_t i = 0; i < cell.item_count; ++i)
                levels.push_back(level_of(state, cell.first_item + i));
            UnitCounts left = table_.unit_counts(cell, levels);
            const InFlightLine &line = table_.line(cell);
            table_.in_flight().for_each_piece(line, [&](const Piece &piece) {
                if (left[piece.unit()] == 0)
                    return;
                --left[piece.unit()];
                set |= sets.bit_of(line.line, piece);
            });
        }
        return set;
    }

    const std::span<const trace::Event> events_;
    const std::span<const std::size_t> instructions_;
    const ReferenceModel &reference_;
    const ImageNumbers &numbers_;
    const ModelKind kind_;
    const bool coarse_;
    const Fault fault_;
    std::vector<std::uint64_t> promises_; // by crash point
    states::ItemTable table_;
    // Of one comparison.
    FenceRule rule_ = FenceRule::explicit_only;
    const AllStates *expected_ = nullptr;
    const AllStates *strict_ = nullptr;
    struct {
        std::vector<StateSet> sets;
        std::vector<StateSet> images;
    } until_;                                 // of the stricter rule, see of_promise_until()
    std::map<std::uint64_t, StateSet> found_; // images, by promise
    std::map<std::uint64_t, StateSet> clean_; // those that some state has without the label
};

} // namespace fencepost::model
