// SPDX-License-Identifier: GPL-2.0-or-later
// See state_walk.h.
#include "replayer/states/state_walk.h"

#include <algorithm>

#include "base/error.h"
#include "base/interrupt.h"

namespace fencepost::states {

using trace::Event;
using trace::EventKind;

namespace {

bool ends_operation(const Event &event)
{
    return event.kind == EventKind::marker &&
           (event.marker_kind() == trace::MarkerKind::op_end ||
            event.marker_kind() == trace::MarkerKind::syscall_exit);
}

// Strategies that ask for one state, at crash points of their own.
bool at_own_points(StrategyKind kind)
{
    return kind == StrategyKind::prefix || kind == StrategyKind::returns;
}

} // namespace

std::uint64_t level_of(const State &state, std::uint32_t item)
{
    const std::span<const ItemLevel> exceptions = state.levels.exceptions;
    const auto found =
        std::lower_bound(exceptions.begin(), exceptions.end(), item,
                         [](const ItemLevel &each, std::uint32_t wanted) { return each.item < wanted; });
    if (found != exceptions.end() && found->item == item)
        return found->level;
    return state.levels.base == Base::none ? 0 : state.items->items()[item].levels - 1;
}

void require_complete(const trace::TraceReader &reader)
{
    if (reader.recording().state != trace::RecordingState::complete)
        fail(ErrorKind::trace,
             "{} is not complete (its recording is {}): crash states would be wrong",
             reader.path().string(), trace::name_of(reader.recording().state));
    for (const trace::DataQuality &counter : reader.data_quality())
        if (counter.severity == trace::Severity::error && counter.value != 0)
            fail(ErrorKind::trace,
                 "{} does not hold what a recording guarantees ({} is {}): crash states would be "
                 "wrong",
                 reader.path().string(), counter.name, counter.value);
}

WalkOptions options_of(const StateId &id)
{
    return {.model = id.model, .fences = id.fences, .grouping = id.grouping};
}

StateWalk::StateWalk(const trace::TraceReader &reader, WalkOptions options)
    : reader_(reader), options_(std::move(options)),
      need_items_(std::any_of(options_.strategies.begin(), options_.strategies.end(),
                              [](const Strategy &strategy) {
                                  return strategy.kind != StrategyKind::none_all &&
                                         strategy.kind != StrategyKind::all &&
                                         !at_own_points(strategy.kind);
                              })),
      trace_(reader.recording().event_digest.substr(0, 8)),
      model_(model::make_model(options_.model, options_.fences)), failure_points_(options_.fences),
      skipping_(options_.after.has_value())
{
    require_complete(reader);
    options_.window.first_seq = std::max(options_.window.first_seq, first_crash_seq(reader));
    if (options_.after)
        check_id(*options_.after);
}

void StateWalk::check_id(const StateId &id) const
{
    if (id.trace != trace_)
        fail(ErrorKind::trace, "the state {} is of another trace than {}", text_of(id),
             reader_.path().string());
    if (id.model != options_.model || id.fences != options_.fences ||
        id.grouping != options_.grouping)
        fail(ErrorKind::usage, "the state {} was made with another model, fence rule or grouping",
             text_of(id));
    if (id.seq > reader_.event_count())
        fail(ErrorKind::usage, "the state {} lies behind the end of the trace ({} events)",
             text_of(id), reader_.event_count());
}

bool StateWalk::wants(StrategyKind kind) const
{
    return std::any_of(options_.strategies.begin(), options_.strategies.end(),
                       [kind](const Strategy &strategy) { return strategy.kind == kind; });
}

StateId StateWalk::id_of(const State &state) const
{
    return {.trace = trace_,
            .model = options_.model,
            .fences = options_.fences,
            .grouping = options_.grouping,
            .seq = state.point.seq,
            .choice = state.levels.choice()};
}

WalkReport StateWalk::run(StateListener &listener)
{
    const bool prefix = wants(StrategyKind::prefix);
    const bool returns = wants(StrategyKind::returns);
    const std::uint64_t end = std::min(options_.window.last_seq, reader_.event_count());
    trace::EventScan scan = reader_.scan();
    bool going = true;
    bool returned = false;
    while (going && report_.events < end && scan.next()) {
        throw_if_interrupted();
        const std::span<const Event> events = scan.events();
        const std::size_t count = std::min<std::uint64_t>(events.size(), end - scan.first_seq());
        for (std::size_t i = 0; i < count && going; ++i) {
            const Event &event = events[i];
            const bool failure_point = prefix && failure_points_.see(event);
            const bool boundary = model_->raises_guarantee(event);
            const std::uint64_t seq = scan.first_seq() + i;
            if ((boundary || failure_point || returned) && options_.window.contains(seq, epoch_))
                going = visit({seq, epoch_, boundary, failure_point, returned}, listener);
            returned = returns && ends_operation(event);
            epoch_ += boundary;
            going = going && epoch_ <= options_.window.last_epoch;
            if (going)
                step(seq, event, scan.wide_values(), listener);
        }
    }
    if (going && options_.window.contains(end, epoch_))
        going = visit({end, epoch_, true, false, returned}, listener);
    if (skipping_ && !report_.stopped)
        fail(ErrorKind::usage, "these strategies do not come by the state {}",
             text_of(*options_.after));
    report_.failure_points = failure_points_.count();
    return report_;
}

void StateWalk::run_to(const StateId &id, StateListener &listener)
{
    check_id(id);
    trace::EventScan scan = reader_.scan({.last_seq = id.seq == 0 ? 0 : id.seq - 1});
    if (id.seq != 0)
        scan.for_each(
            [&](std::uint64_t seq, const Event &event, std::span<const std::byte> wide_values) {
                epoch_ += model_->raises_guarantee(event);
                step(seq, event, wide_values, listener);
            });
    table_.build(model_->in_flight(), options_.grouping);
    const CrashPoint point = {.seq = id.seq, .epoch = epoch_};
    listener.crash_point(point, &table_, model_->in_flight());
    Enumeration enumeration(table_, id.seq, options_.seed, [&](const ChosenLevels &levels) {
        listener.state({point, &table_, levels, StrategyKind::all});
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

bool StateWalk::offer(const CrashPoint &point, const ChosenLevels &levels, StrategyKind strategy,
                      StateListener &listener)
{
    const State state = {point, items_, levels, strategy};
    // Several strategies begin with these two.
    if (levels.kind == Choice::Kind::listed && levels.exceptions.empty()) {
        bool &seen = levels.base == Base::none ? seen_none_ : seen_all_;
        if (seen)
            return true;
        seen = true;
    }
    if (skipping_) {
        if (point.seq == options_.after->seq && levels.choice() == options_.after->choice)
            skipping_ = false;
        return true;
    }
    ++report_.generated;
    return listener.state(state);
}

bool StateWalk::visit(const CrashPoint &point, StateListener &listener)
{
    ++report_.crash_points;
    seen_none_ = seen_all_ = false;
    const model::InFlight &in_flight = model_->in_flight();
    const std::uint64_t generated_before = report_.generated;
    const bool past = !skipping_ || point.seq >= options_.after->seq;
    items_ = need_items_ && point.boundary && past ? &table_ : nullptr;
    if (items_)
        table_.build(in_flight, options_.grouping);
    if (past)
        listener.crash_point(point, items_, in_flight);
    bool going = true;
    for (const Strategy &strategy : options_.strategies) {
        if (!past || !going)
            break;
        if (at_own_points(strategy.kind)) {
            if (strategy.kind == StrategyKind::prefix ? point.failure_point : point.returned)
                going = offer(point, {.base = Base::all}, strategy.kind, listener);
        } else if (point.boundary) {
            Enumeration enumeration(table_, point.seq, options_.seed,
                                    [&](const ChosenLevels &levels) {
                                        return offer(point, levels, strategy.kind, listener);
                                    });
            going = enumeration.run(strategy);
            report_.capped += enumeration.capped();
        }
    }
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
