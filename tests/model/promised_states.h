// SPDX-License-Identifier: GPL-2.0-or-later
// Pairs of state and promise: those of the crash points that a walk looks at against those of all
// crash points, and the label "relies on an incidental locked instruction" against its definition.
#pragma once

#include <map>
#include <stdexcept>
#include <vector>

#include <fmt/core.h>

#include "replayer/states/crash_points.h"
#include "replayer/states/enumeration.h"
#include "replayer/states/legality.h"
#include "tests/model/model_states.h"

namespace fencepost::model {

class Difference : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// What goes wrong on purpose, to see that the comparison notices.
enum class Fault {
    none,
    label_at_epoch_end, // the label compares with the states of the same crash point only
    store_before_fence, // a locked instruction's store is recorded before its fence
    no_point_at_return, // crash points where the promise changes are left out
};

struct PairTotals {
    std::uint64_t pairs = 0;
    std::uint64_t points = 0;
    std::uint64_t labels = 0;
    std::uint64_t incidental = 0;
};

class PromisedStates {
public:
    using StateSet = ReferenceModel::StateSet;

    // `coarse`: only operations change the promise, system calls and checkpoints do not.
    // `instructions`: as for ModelStates.
    PromisedStates(std::span<const trace::Event> events, std::span<const std::size_t> instructions,
                   const ReferenceModel &reference, ModelKind kind, bool coarse, Fault fault)
        : events_(events), instructions_(instructions), reference_(reference), kind_(kind),
          coarse_(coarse), fault_(fault)
    {
        promises_.push_back(0);
        for (const trace::Event &event : events)
            promises_.push_back(promises_.back() + changes(event));
    }

    // `expected`: the states of each crash point. `strict`: those if locked instructions count as
    // well; without it no label is looked at.
    void compare(FenceRule rule, const std::vector<StateSet> &expected,
                 const std::vector<StateSet> *strict, PairTotals &totals)
    {
        std::map<std::uint64_t, StateSet> all;
        std::map<std::uint64_t, StateSet> in_flight;
        std::map<std::uint64_t, StateSet> strict_pairs;
        for (std::size_t point = 0; point <= events_.size(); ++point) {
            all[promises_[point]] |= expected[point];
            // One state: nothing is in flight.
            if (expected[point].count() > 1)
                in_flight[promises_[point]] |= expected[point];
            if (strict)
                strict_pairs[promises_[point]] |= (*strict)[point];
        }
        std::map<std::uint64_t, StateSet> found = walk(rule, strict, strict_pairs, totals);
        for (const auto &[promise, states] : in_flight)
            if ((states & ~found[promise]).any())
                differ("a pair of state and promise that the walk does not have", std::nullopt,
                       rule);
        for (const auto &[promise, states] : found) {
            if ((states & ~all[promise]).any())
                differ("a pair of state and promise that no crash point has", std::nullopt, rule);
            totals.pairs += states.count();
        }
    }

private:
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

    [[noreturn]] void differ(const char *what, std::optional<std::uint64_t> seq,
                             FenceRule rule) const
    {
        throw Difference(fmt::format("{}{}, model {}, fences {}, {} promise", what,
                                     seq ? fmt::format(", crash before event {}", *seq) : "",
                                     name_of(kind_), name_of(rule), coarse_ ? "coarse" : "fine"));
    }

    states::PromiseAt promise() const
    {
        if (!coarse_)
            return {}; // the walk's own idea of it
        return [this](std::uint64_t seq) { return promises_[seq]; };
    }

    // As StateWalk does it.
    std::map<std::uint64_t, StateSet> walk(FenceRule rule, const std::vector<StateSet> *strict,
                                           std::map<std::uint64_t, StateSet> &strict_pairs,
                                           PairTotals &totals)
    {
        static const std::array<std::byte, trace::kMaxStoreBytes> wide = {};
        PersistenceModel model(kind_, rule);
        states::CrashPoints points(model, {}, promise(), {});
        states::Legality legality(kind_, promise());
        ModelStates sets(reference_, instructions_);
        std::map<std::uint64_t, StateSet> found;
        const auto visit = [&](const states::CrashPoint &point) {
            ++totals.points;
            const InFlight &in_flight = model.in_flight();
            table_.build(in_flight, states::Grouping::off);
            legality.crash_point(in_flight);
            const std::uint64_t promised = promises_[point.seq];
            states::Enumeration(table_, point.seq, 1, [&](const states::ChosenLevels &levels) {
                const states::StateView state = {point, &table_, levels};
                const auto set = sets.settled() | pieces_of(state, sets);
                found[promised].set(set);
                if (!strict)
                    return true;
                const bool clean = fault_ == Fault::label_at_epoch_end
                                       ? (*strict)[point.seq].test(set)
                                       : legality.legal_architecturally(state);
                if (clean != strict_pairs[promised].test(set))
                    differ(clean ? "a state without the label that is not architectural"
                                 : "a label though an architectural crash point has the state",
                           point.seq, rule);
                ++totals.labels;
                totals.incidental += !clean;
                return true;
            }).exhaustive(UINT64_MAX);
        };
        for (std::size_t seq = 0; seq < events_.size(); ++seq) {
            const auto point = points.before(seq, events_[seq]);
            if (point && !(fault_ == Fault::no_point_at_return && !point->boundary))
                visit(*point);
            model.apply(seq, events_[seq], wide);
            sets.note_settled(model.in_flight());
            legality.event(seq, events_[seq], wide, model.in_flight());
        }
        visit(*points.at_end(events_.size()));
        return found;
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
    const ModelKind kind_;
    const bool coarse_;
    const Fault fault_;
    std::vector<std::uint64_t> promises_; // by crash point
    states::ItemTable table_;
};

} // namespace fencepost::model
