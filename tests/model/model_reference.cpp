// SPDX-License-Identifier: GPL-2.0-or-later
// The fast models against the reference: model_reference [--fault NAME] TRACES [SEED]. At every
// crash point of every random trace, under each model and fence rule, both have the same set of
// states; the states at epoch boundaries are all states there are; in_flight_units.h compares the
// view of the rules, and promised_states.h pairs of image and promise, and the label. With a fault
// the comparison must fail.
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>

#include <fmt/core.h>

#include "base/deadline.h"
#include "tests/model/in_flight_units.h"
#include "tests/model/promised_states.h"
#include "tests/model/small_trace.h"

namespace fencepost::model {
namespace {

struct Totals {
    std::uint64_t traces = 0;
    std::uint64_t crash_points = 0;
    std::uint64_t states = 0;
    std::uint64_t boundaries = 0;
    std::uint64_t units = 0;
    PairTotals pairs;
};

std::string describe(std::span<const trace::Event> events)
{
    std::string text;
    for (std::size_t i = 0; i < events.size(); ++i) {
        const trace::Event &event = events[i];
        text += fmt::format("  {} vcpu {} {} {}", i, event.vcpu, trace::name_of(event.kind),
                            trace::subkind_name(event.kind, event.subkind));
        if (event.has_address())
            text += fmt::format(" +{} size {} value {:x}",
                                event.address - kSmallTraceLine * trace::kLineBytes, event.size,
                                event.value);
        text += '\n';
    }
    return text;
}

// Returns the states of each crash point, as the reference has them.
std::vector<ReferenceModel::StateSet> compare(std::span<const trace::Event> events,
                                              const ReferenceModel &reference,
                                              std::span<const ReferenceModel::PieceSet> closed,
                                              ModelKind kind, FenceRule rule, Totals &totals)
{
    std::vector<ReferenceModel::StateSet> of_points;
    const auto differ = [&](const char *what, std::size_t executed) {
        throw Difference(fmt::format("{} after {} events, model {}, fences {}", what, executed,
                                     name_of(kind), name_of(rule)));
    };
    PersistenceModel model(kind, rule);
    ModelStates fast(reference);
    ReferenceModel::StateSet all;
    ReferenceModel::StateSet at_boundaries;
    ReferenceModel::States expected;
    ReferenceModel::PieceSet executed_before = 0;
    ReferenceModel::PieceSet guaranteed_before = 0;
    for (std::size_t executed = 0;; ++executed) {
        const auto executed_parts = reference.executed_parts(executed);
        const auto guaranteed = reference.guaranteed_parts(executed, kind, rule);
        // The states are a function of these two.
        if (executed == 0 || executed_parts != executed_before || guaranteed != guaranteed_before)
            expected = reference.states(closed, executed_parts, guaranteed);
        executed_before = executed_parts;
        guaranteed_before = guaranteed;
        const auto states = fast.states(model.in_flight());
        if (states != expected.sets)
            differ("another set of states", executed);
        if (fast.listed() != expected.count)
            differ("a state listed twice", executed);
        all |= expected.sets;
        of_points.push_back(expected.sets);
        ++totals.crash_points;
        totals.states += fast.listed();
        const bool end = executed == events.size();
        const bool boundary = !end && model.raises_guarantee(events[executed]);
        if (end || boundary) {
            at_boundaries |= states;
            ++totals.boundaries;
        }
        if (end)
            break;
        const auto settled_before = fast.settled();
        model.apply(executed, events[executed], SmallTraces::wide_values());
        fast.note_settled(model.in_flight());
        if (boundary != (fast.settled() != settled_before))
            differ("a boundary where nothing becomes guaranteed, or none where something does",
                   executed);
    }
    if (all != at_boundaries)
        differ("states between boundaries that no boundary has", events.size());
    return of_points;
}

// A trace as a tracer would record it that takes the store of a locked instruction for the first.
struct StoresFirst {
    explicit StoresFirst(std::vector<trace::Event> in_order) : events(std::move(in_order))
    {
        instructions.resize(events.size());
        std::iota(instructions.begin(), instructions.end(), 0);
        for (std::size_t i = 1; i < events.size(); ++i)
            if (events[i].flags & trace::kAtomic) {
                std::swap(events[i - 1], events[i]);
                std::swap(instructions[i - 1], instructions[i]);
            }
    }

    std::vector<trace::Event> events;
    std::vector<std::size_t> instructions; // in order, by event
};

std::vector<ReferenceModel::StateSet>
reference_states(std::size_t events, const ReferenceModel &reference,
                 std::span<const ReferenceModel::PieceSet> closed, ModelKind kind, FenceRule rule)
{
    std::vector<ReferenceModel::StateSet> of_points;
    for (std::size_t executed = 0; executed <= events; ++executed)
        of_points.push_back(reference
                                .states(closed, reference.executed_parts(executed),
                                        reference.guaranteed_parts(executed, kind, rule))
                                .sets);
    return of_points;
}

void compare_trace(const std::vector<trace::Event> &events, bool coarse, Fault fault,
                   Totals &totals)
{
    const ReferenceModel reference(events, SmallTraces::wide_values());
    const auto by_unit = reference.closed_sets(ModelKind::adr);
    const auto by_line = reference.closed_sets(ModelKind::line); // all of them among those by unit
    const ImageNumbers numbers(reference, by_unit);
    for (const ModelKind kind : {ModelKind::adr, ModelKind::eadr, ModelKind::line}) {
        const auto &closed = kind == ModelKind::line ? by_line : by_unit;
        const auto states_of = [&](FenceRule rule) {
            if (kind != ModelKind::line)
                totals.units += InFlightUnits(events, reference, kind, rule).compare();
            return AllStates(fault == Fault::store_before_fence
                                 ? reference_states(events.size(), reference, closed, kind, rule)
                                 : compare(events, reference, closed, kind, rule, totals),
                             numbers);
        };
        const AllStates states = states_of(FenceRule::explicit_only);
        const AllStates strict = states_of(FenceRule::architectural);
        const auto compare_pairs = [&](PromisedStates &&pairs) {
            pairs.compare(FenceRule::explicit_only, states, &strict, totals.pairs);
            pairs.compare(FenceRule::architectural, strict, nullptr, totals.pairs);
        };
        if (fault == Fault::store_before_fence) {
            const StoresFirst recorded(events);
            compare_pairs(
                {recorded.events, recorded.instructions, reference, numbers, kind, coarse, fault});
        } else {
            compare_pairs({events, {}, reference, numbers, kind, coarse, fault});
        }
    }
}

Totals run(std::uint64_t traces, std::uint64_t seed, Fault fault)
{
    SmallTraces source(seed);
    Totals totals;
    for (; totals.traces < traces; ++totals.traces) {
        const std::vector<trace::Event> &events = source.next();
        try {
            compare_trace(events, totals.traces % 2 != 0, fault, totals);
        } catch (const Difference &difference) {
            throw Difference(fmt::format("trace {}: {}:\n{}", totals.traces, difference.what(),
                                         describe(events)));
        }
    }
    return totals;
}

} // namespace
} // namespace fencepost::model

namespace {

int usage()
{
    std::fprintf(stderr, "usage: model_reference [--fault label-at-epoch-end|label-by-piece|"
                         "store-before-fence|no-crash-point-at-return] TRACES [SEED]\n");
    return 2;
}

} // namespace

int main(int argc, char **argv)
{
    using fencepost::model::Fault;
    Fault fault = Fault::none;
    int next = 1;
    if (argc > 2 && std::string(argv[1]) == "--fault") {
        const std::string name = argv[2];
        fault = name == "label-at-epoch-end"         ? Fault::label_at_epoch_end
                : name == "label-by-piece"           ? Fault::label_by_piece
                : name == "store-before-fence"       ? Fault::store_before_fence
                : name == "no-crash-point-at-return" ? Fault::no_point_at_return
                                                     : Fault::none;
        if (fault == Fault::none)
            return usage();
        next = 3;
    }
    if (argc <= next)
        return usage();
    const std::uint64_t seed = argc > next + 1 ? std::strtoull(argv[next + 1], nullptr, 10) : 1;
    const fencepost::Stopwatch watch;
    try {
        const auto totals =
            fencepost::model::run(std::strtoull(argv[next], nullptr, 10), seed, fault);
        fmt::print("{} traces, seed {}: {} crash points, {} states, {} at boundaries; {} units; {} "
                   "pairs of "
                   "image and promise at {} crash points of the walk, {} states with runs; {} "
                   "labels compared, {} of them incidental, {} not, for their bytes alone; no "
                   "difference; {:.1f} s\n",
                   totals.traces, seed, totals.crash_points, totals.states, totals.boundaries,
                   totals.units, totals.pairs.pairs, totals.pairs.points, totals.pairs.of_runs,
                   totals.pairs.labels, totals.pairs.incidental, totals.pairs.bytes_alone,
                   watch.seconds());
    } catch (const std::exception &difference) {
        if (fault != Fault::none) {
            fmt::print("caught {}: {}", argv[2], difference.what());
            return 0;
        }
        fmt::print(stderr, "model_reference: {}", difference.what());
        return 1;
    }
    if (fault == Fault::none)
        return 0;
    fmt::print(stderr, "model_reference: the fault {} is not caught\n", argv[2]);
    return 1;
}
