// SPDX-License-Identifier: GPL-2.0-or-later
// The fast models against the reference: model_reference TRACES [SEED]. At every crash point of
// every random trace, under each model and fence rule, both have the same set of states; and the
// states at epoch boundaries are all states there are.
#include <cstdio>
#include <cstdlib>
#include <string>

#include <fmt/format.h>

#include "base/deadline.h"
#include "tests/model/model_states.h"
#include "tests/model/small_trace.h"

namespace fencepost::model {
namespace {

struct Totals {
    std::uint64_t traces = 0;
    std::uint64_t crash_points = 0;
    std::uint64_t states = 0;
    std::uint64_t boundaries = 0;
};

std::string describe(std::span<const trace::Event> events)
{
    std::string text;
    for (std::size_t i = 0; i < events.size(); ++i) {
        const trace::Event &event = events[i];
        text += fmt::format("  {} vcpu {} {} {}", i, event.vcpu, trace::name_of(event.kind),
                            trace::subkind_name(event.kind, event.subkind));
        if (event.has_address())
            text += fmt::format(" +{} size {}", event.address - kSmallTraceLine * trace::kLineBytes,
                                event.size);
        text += '\n';
    }
    return text;
}

class Difference : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

void compare(std::span<const trace::Event> events, const ReferenceModel &reference,
             std::span<const ReferenceModel::PieceSet> closed, ModelKind kind, FenceRule rule,
             Totals &totals)
{
    const auto differ = [&](const char *what, std::size_t executed) {
        throw Difference(fmt::format("{} after {} events, model {}, fences {}:\n{}", what, executed,
                                     name_of(kind), name_of(rule), describe(events)));
    };
    const std::unique_ptr<PersistenceModel> model = make_model(kind, rule);
    ModelStates fast(reference);
    ReferenceModel::StateSet all;
    ReferenceModel::StateSet at_boundaries;
    ReferenceModel::States expected;
    ReferenceModel::PieceSet executed_before = 0;
    ReferenceModel::PieceSet guaranteed_before = 0;
    static const std::array<std::byte, trace::kMaxStoreBytes> wide = {};
    for (std::size_t executed = 0;; ++executed) {
        const auto executed_parts = reference.executed_parts(executed);
        const auto guaranteed = reference.guaranteed_parts(executed, kind, rule);
        // The states are a function of these two.
        if (executed == 0 || executed_parts != executed_before || guaranteed != guaranteed_before)
            expected = reference.states(closed, executed_parts, guaranteed);
        executed_before = executed_parts;
        guaranteed_before = guaranteed;
        const auto states = fast.states(model->in_flight());
        if (states != expected.sets)
            differ("another set of states", executed);
        if (fast.listed() != expected.count)
            differ("a state listed twice", executed);
        all |= expected.sets;
        ++totals.crash_points;
        totals.states += fast.listed();
        const bool end = executed == events.size();
        const bool boundary = !end && model->raises_guarantee(events[executed]);
        if (end || boundary) {
            at_boundaries |= states;
            ++totals.boundaries;
        }
        if (end)
            break;
        const auto settled_before = fast.settled();
        model->apply(executed, events[executed], wide);
        fast.note_settled(model->in_flight());
        if (boundary != (fast.settled() != settled_before))
            differ("a boundary where nothing becomes guaranteed, or none where something does",
                   executed);
    }
    if (all != at_boundaries)
        differ("states between boundaries that no boundary has", events.size());
}

Totals run(std::uint64_t traces, std::uint64_t seed)
{
    SmallTraces source(seed);
    Totals totals;
    for (; totals.traces < traces; ++totals.traces) {
        const std::vector<trace::Event> &events = source.next();
        const ReferenceModel reference(events);
        const auto by_unit = reference.closed_sets(ModelKind::adr);
        const auto by_line = reference.closed_sets(ModelKind::line);
        for (const FenceRule rule : {FenceRule::explicit_only, FenceRule::architectural}) {
            compare(events, reference, by_unit, ModelKind::adr, rule, totals);
            compare(events, reference, by_unit, ModelKind::eadr, rule, totals);
            compare(events, reference, by_line, ModelKind::line, rule, totals);
        }
    }
    return totals;
}

} // namespace
} // namespace fencepost::model

int main(int argc, char **argv)
{
    if (argc < 2) {
        std::fprintf(stderr, "usage: model_reference TRACES [SEED]\n");
        return 2;
    }
    const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
    const fencepost::Stopwatch watch;
    try {
        const auto totals = fencepost::model::run(std::strtoull(argv[1], nullptr, 10), seed);
        std::printf(
            "%llu traces, seed %llu: %llu crash points, %llu states, %llu at boundaries; no "
            "difference; %.1f s\n",
            static_cast<unsigned long long>(totals.traces), static_cast<unsigned long long>(seed),
            static_cast<unsigned long long>(totals.crash_points),
            static_cast<unsigned long long>(totals.states),
            static_cast<unsigned long long>(totals.boundaries), watch.seconds());
    } catch (const std::exception &difference) {
        std::fprintf(stderr, "model_reference: %s", difference.what());
        return 1;
    }
    return 0;
}
