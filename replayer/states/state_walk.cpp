// SPDX-License-Identifier: GPL-2.0-or-later
// See state_walk.h.
#include "replayer/states/state_walk.h"

#include <algorithm>

#include "base/error.h"
#include "base/interrupt.h"
#include "replayer/states/own_strategy.h"

namespace fencepost::states {

using trace::Event;

namespace {

bool asks_at(const CrashPoint &point, StrategyPoints points)
{
    switch (points) {
    case StrategyPoints::every:
        return point.has_states();
    case StrategyPoints::failure_points:
        return point.failure_point;
    case StrategyPoints::returns:
        return point.returned;
    }
    check_failed(__FILE__, __LINE__, "points", "a strategy that asks nowhere");
}

} // namespace

void require_complete(const trace::TraceReader &reader)
{
    if (reader.recording().state != trace::RecordingState::complete)
        fail(ErrorKind::trace,
             "{} is not complete (its recording is {}): crash states would be wrong",
             reader.path().string(), trace::name_of(reader.recording().state));
    for (const trace::DataQuality &counter : reader.data_quality())
        if (counter.severity == trace::QualityLevel::error && counter.value != 0)
            fail(ErrorKind::trace,
                 "{} does not hold what a recording guarantees ({} is {}): crash states would be "
                 "wrong",
                 reader.path().string(), counter.name, counter.value);
}

namespace {

// What of the options an id has to tell: nothing where locked instructions count as well.
std::string incidental_digest(const WalkOptions &options)
{
    return options.fences == model::FenceRule::explicit_only ? options.incidental.digest() : "";
}

} // namespace

WalkOptions options_of(const CrashState &id, const trace::IncidentalFences &incidental)
{
    WalkOptions options = {.model = id.model, .fences = id.fences, .grouping = id.grouping};
    if (!id.incidental.empty())
        options.incidental = incidental;
    return options;
}

namespace {

WalkOptions from_first_crash(const trace::TraceReader &reader, WalkOptions options)
{
    require_complete(reader);
    options.window.first_seq = std::max(options.window.first_seq, first_crash_seq(reader));
    return options;
}

} // namespace

StateWalk::StateWalk(const trace::TraceReader &reader, WalkOptions options)
    : reader_(reader), options_(from_first_crash(reader, std::move(options))),
      need_items_(std::any_of(options_.strategies.begin(), options_.strategies.end(),
                              [](const Strategy &strategy) { return strategy.info->needs_items; })),
      trace_(reader.recording().event_digest.substr(0, 8)),
      model_(std::make_unique<model::PersistenceModel>(options_.model, options_.fences)),
      points_(*model_, options_.window, options_.turn, options_.promise,
              {.failure_points = wants(StrategyPoints::failure_points),
               .returns = wants(StrategyPoints::returns)}),
      sectors_(reader), skipping_(options_.after.has_value())
{
    if (options_.after)
        check_id(*options_.after);
}

void StateWalk::check_id(const CrashState &id) const
{
    if (id.trace != trace_)
        fail(ErrorKind::trace, "the state {} is of another trace than {}", id_of(id),
             reader_.path().string());
    if (id.model != options_.model || id.fences != options_.fences ||
        id.grouping != options_.grouping)
        fail(ErrorKind::usage, "the state {} was made with another model, fence rule or grouping",
             id_of(id));
    if (id.incidental != incidental_digest(options_))
        fail(ErrorKind::usage,
             "the state {} was made with other incidental fences (--incidental and the spec's "
             "model.incidental name them)",
             id_of(id));
    if (id.seq > reader_.event_count())
        fail(ErrorKind::usage, "the state {} lies behind the end of the trace ({} events)",
             id_of(id), reader_.event_count());
}

bool StateWalk::wants(StrategyPoints points) const
{
    return std::any_of(
        options_.strategies.begin(), options_.strategies.end(),
        [points](const Strategy &strategy) { return strategy.info->points == points; });
}

CrashState StateWalk::crash_state(const StateView &state) const
{
    return {.trace = trace_,
            .model = options_.model,
            .fences = options_.fences,
            .grouping = options_.grouping,
            .incidental = incidental_digest(options_),
            .seq = state.point.seq,
            .choice = state.levels.choice()};
}

// An incidental fence is one more instruction that acts as a fence though nobody meant it to.
const Event &StateWalk::as_counted(const Event &event)
{
    if (!options_.incidental.contains(event) || options_.fences == model::FenceRule::architectural)
        [[likely]]
        return event;
    ++report_.incidental_fences;
    counted_ = event;
    counted_.subkind = static_cast<std::uint8_t>(trace::FenceKind::lock_rmw);
    return counted_;
}

// Calls at_point(point), which returns false to stop, and at_event(seq, event, wide_values) for
// each event that was not the last.
template <typename AtPoint, typename AtEvent>
void StateWalk::walk(AtPoint &&at_point, AtEvent &&at_event)
{
    const std::uint64_t end = std::min(options_.window.last_seq, reader_.event_count());
    trace::EventScan scan = reader_.scan();
    bool going = true;
    while (going && report_.events < end && scan.next()) {
        throw_if_interrupted();
        const std::span<const Event> events = scan.events();
        const std::size_t count = std::min<std::uint64_t>(events.size(), end - scan.first_seq());
        for (std::size_t i = 0; i < count && going; ++i) {
            const Event &event = as_counted(events[i]);
            const std::uint64_t seq = scan.first_seq() + i;
            if (const auto point = points_.before(seq, event))
                going = at_point(*point);
            going = going && !points_.past_last();
            if (going)
                at_event(seq, event, scan.wide_values());
        }
    }
    if (const auto point = points_.at_end(end); going && point)
        at_point(*point);
}

void WalkReport::add(const WalkReport &turn)
{
    events = std::max(events, turn.events);
    epochs += turn.epochs;
    crash_points += turn.crash_points;
    promise_points += turn.promise_points;
    incidental_fences = std::max(incidental_fences, turn.incidental_fences);
    failure_points += turn.failure_points;
    legal.add(turn.legal);
    generated += turn.generated;
    capped += turn.capped;
    grouped_crash_points += turn.grouped_crash_points;
    runs += turn.runs;
    lines_in_runs += turn.lines_in_runs;
    stopped = turn.stopped;
}

WalkReport StateWalk::run(StateListener &listener)
{
    walk([&](const CrashPoint &point) { return visit(point, listener); },
         [&](std::uint64_t seq, const Event &event, std::span<const std::byte> wide_values) {
             step(seq, event, wide_values, listener);
         });
    if (skipping_ && !report_.stopped)
        fail(ErrorKind::usage, "state not generated by these strategies: {}",
             id_of(*options_.after));
    report_.failure_points = points_.failure_points();
    return report_;
}

void StateWalk::for_each_crash_point(
    const std::function<void(const CrashPoint &)> &at_point,
    const std::function<void(std::uint64_t seq, const Event &)> &at_event)
{
    walk(
        [&](const CrashPoint &point) {
            at_point(point);
            if (point.boundary)
                model_->forget_changes();
            return true;
        },
        [&](std::uint64_t seq, const Event &event, std::span<const std::byte> wide_values) {
            model_->apply(seq, event, wide_values);
            at_event(seq, event);
        });
}

void StateWalk::run_to(const CrashState &id, StateListener &listener)
{
    check_id(id);
    trace::EventScan scan = reader_.scan({.last_seq = id.seq == 0 ? 0 : id.seq - 1});
    if (id.seq != 0)
        scan.for_each(
            [&](std::uint64_t seq, const Event &each, std::span<const std::byte> wide_values) {
                const Event &event = as_counted(each);
                points_.before(seq, event);
                step(seq, event, wide_values, listener);
            });
    build_items(table_);
    const CrashPoint point = {.seq = id.seq, .epoch = points_.epoch()};
    listener.crash_point(point, &table_, model_->in_flight());
    Enumeration enumeration(table_, id.seq, options_.seed, [&](const ChosenLevels &levels) {
        listener.state({point, &table_, levels});
        return false;
    });
    enumeration.run(id.choice);
}

void StateWalk::step(std::uint64_t seq, const Event &event, std::span<const std::byte> wide_values,
                     StateListener &listener)
{
    model_->apply(seq, event, wide_values);
    listener.event(seq, event, wide_values, model_->in_flight());
    ++report_.events;
}

bool StateWalk::offer(const CrashPoint &point, const ChosenLevels &levels, StateListener &listener)
{
    const StateView state = {point, items_, levels};
    if (skipping_) {
        if (point.seq == options_.after->seq && levels.choice() == options_.after->choice)
            skipping_ = false;
        return true;
    }
    ++report_.generated;
    return listener.state(state);
}

void StateWalk::build_items(ItemTable &table) const
{
    table.build(model_->in_flight(), options_.grouping, sectors_);
}

bool StateWalk::generate(const Strategy &strategy, const CrashPoint &point,
                         Enumeration &enumeration)
{
    if (!strategy.own)
        return strategy.info->generate(enumeration, strategy.number);
    bool going = true;
    strategy.own->choose(point, table_, [&](const Choice &choice) {
        going = going && enumeration.run(choice);
        return going;
    });
    return going;
}

bool StateWalk::visit(const CrashPoint &point, StateListener &listener)
{
    ++report_.crash_points;
    report_.promise_points += point.promise && !point.boundary;
    const model::InFlight &in_flight = model_->in_flight();
    const std::uint64_t generated_before = report_.generated;
    const bool past = !skipping_ || point.seq >= options_.after->seq;
    items_ = need_items_ && point.has_states() && past ? &table_ : nullptr;
    if (items_)
        build_items(table_);
    if (past)
        listener.crash_point(point, items_, in_flight);
    bool going = true;
    Enumeration enumeration(table_, point.seq, options_.seed, [&](const ChosenLevels &levels) {
        return offer(point, levels, listener);
    });
    enumeration.set_tearing(options_.tearing, point.since);
    for (const Strategy &strategy : options_.strategies)
        if (past && going && asks_at(point, strategy.info->points))
            going = generate(strategy, point, enumeration);
    report_.capped += enumeration.capped();
    report_.stopped = !going;
    if (!point.boundary)
        return going;
    legal_.update(in_flight);
    model_->forget_changes();
    EpochCount epoch = {.point = point,
                        .legal = legal_.count(in_flight),
                        .lines = in_flight.line_count(),
                        .generated = report_.generated - generated_before};
    if (items_) {
        epoch.runs = table_.runs();
        epoch.lines_in_runs = table_.lines_in_runs();
        report_.grouped_crash_points += table_.runs() != 0;
        report_.runs += table_.runs();
        report_.lines_in_runs += table_.lines_in_runs();
    }
    ++report_.epochs;
    report_.legal.add(epoch.legal);
    listener.epoch(epoch);
    return going;
}

} // namespace fencepost::states
