// SPDX-License-Identifier: GPL-2.0-or-later
// Walks a trace once, forward, and offers the crash states that strategies ask for.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyzer/model/persistence_model.h"
#include "replayer/states/crash_points.h"
#include "replayer/states/crash_state.h"
#include "replayer/states/enumeration.h"
#include "replayer/states/items.h"
#include "replayer/states/legal_count.h"
#include "replayer/states/state_view.h"
#include "replayer/states/strategy.h"
#include "replayer/states/window.h"
#include "trace/incidental_fences.h"
#include "trace/reader.h"

namespace fencepost::states {

// What is known about the states at an epoch's end.
struct EpochCount {
    CrashPoint point;
    StateCount legal;
    std::uint64_t lines = 0; // in flight
    std::uint64_t generated = 0;
    std::uint64_t runs = 0; // taken as one item each
    std::uint64_t lines_in_runs = 0;
};

class StateListener {
public:
    virtual ~StateListener() = default;

    // After each event was applied to the model.
    virtual void event(std::uint64_t seq, const trace::Event &event,
                       std::span<const std::byte> wide_values,
                       const model::InFlight &in_flight) = 0;
    // Before the states of a crash point. `items` is nullptr when no strategy asks for them.
    virtual void crash_point(const CrashPoint &, const ItemTable *, const model::InFlight &) {}
    // False stops the walk.
    virtual bool state(const StateView &state) = 0;
    // After the states of a crash point that ends an epoch.
    virtual void epoch(const EpochCount &) {}
};

struct WalkOptions {
    model::ModelKind model = model::ModelKind::adr;
    model::FenceRule fences = model::FenceRule::explicit_only;
    std::vector<Strategy> strategies = {};
    std::uint64_t seed = 1;
    Window window = {};
    // Of the crash points in the window those that this walk is about (crash_turns.h); nothing:
    // all.
    std::optional<std::vector<Span>> turn = {};
    Grouping grouping = Grouping::automatic;
    Tearing tearing = Tearing::all;
    // Fences of these functions count as little as locked instructions do.
    trace::IncidentalFences incidental = {};
    // Where the promise changes; none: with every marker that may change one.
    PromiseAt promise = {};
    // Leave out the states up to and with this one.
    std::optional<CrashState> after = {};
};

struct WalkReport {
    std::uint64_t events = 0;
    std::uint64_t epochs = 0; // in the window
    std::uint64_t crash_points = 0;
    std::uint64_t promise_points = 0;    // those that end no epoch, where the promise changes
    std::uint64_t incidental_fences = 0; // that did not count though they are explicit
    std::uint64_t failure_points = 0;
    StateCount legal = {.exact = 0}; // the sum over epochs
    std::uint64_t generated = 0;
    std::uint64_t capped = 0; // crash points where `exhaustive` met its cap
    std::uint64_t grouped_crash_points = 0;
    std::uint64_t runs = 0;
    std::uint64_t lines_in_runs = 0;
    bool stopped = false; // by the listener

    // Of another walk over the same trace, in another turn.
    void add(const WalkReport &turn);
};

// Refuses a trace that is not complete or does not hold what a recording guarantees: Error(trace).
class StateWalk {
public:
    StateWalk(const trace::TraceReader &reader, WalkOptions options);

    WalkReport run(StateListener &listener);
    // Instead: the crash points alone, and the events between them.
    void for_each_crash_point(
        const std::function<void(const CrashPoint &)> &at_point,
        const std::function<void(std::uint64_t seq, const trace::Event &)> &at_event);
    // So far.
    const WalkReport &report() const { return report_; }
    // Goes to the state's crash point and offers that one state.
    void run_to(const CrashState &id, StateListener &listener);

    CrashState crash_state(const StateView &state) const;
    // Those of the current crash point.
    void build_items(ItemTable &table) const;
    // Error(trace) when the id is of another trace, Error(usage) when it was made with other
    // options.
    void check_id(const CrashState &id) const;

private:
    template <typename AtPoint, typename AtEvent> void walk(AtPoint &&at_point, AtEvent &&at_event);
    void step(std::uint64_t seq, const trace::Event &event, std::span<const std::byte> wide_values,
              StateListener &listener);
    bool visit(const CrashPoint &point, StateListener &listener);
    bool offer(const CrashPoint &point, const ChosenLevels &levels, StateListener &listener);
    bool generate(const Strategy &strategy, const CrashPoint &point, Enumeration &enumeration);
    bool wants(StrategyPoints points) const;
    const trace::Event &as_counted(const trace::Event &event);

    const trace::TraceReader &reader_;
    WalkOptions options_;
    bool need_items_;
    std::string trace_;
    std::unique_ptr<model::PersistenceModel> model_;
    CrashPoints points_;
    trace::BlockWrites sectors_;
    ItemTable table_;
    const ItemTable *items_ = nullptr; // of the current crash point
    LegalCount legal_;
    WalkReport report_;
    trace::Event counted_; // of as_counted()
    bool skipping_;        // until options_.after was seen
};

// What StateWalk asks of a trace.
void require_complete(const trace::TraceReader &reader);

// The options that an id was made with. It has but a digest of its incidental fences: those that it
// may have been made with are given.
WalkOptions options_of(const CrashState &id, const trace::IncidentalFences &incidental = {});

} // namespace fencepost::states
