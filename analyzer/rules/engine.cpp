// SPDX-License-Identifier: GPL-2.0-or-later
// See engine.h.
#include "analyzer/rules/engine.h"

#include <algorithm>
#include <bit>
#include <tuple>

#include <fmt/core.h>

#include "base/error.h"
#include "base/interrupt.h"

namespace fencepost::rules {

using trace::Event;
using trace::EventKind;
using trace::MarkerKind;

namespace {

std::uint32_t marker_bit(MarkerKind kind)
{
    return 1u << static_cast<unsigned>(kind);
}

std::vector<bool> user_sites(const symbols::CodeNames &code)
{
    std::vector<bool> sites;
    for (const trace::SiteRow &row : code.sites()) {
        if (row.site.id >= sites.size())
            sites.resize(row.site.id + std::size_t{1});
        sites[row.site.id] = row.site.privilege == trace::Privilege::user;
    }
    return sites;
}

} // namespace

Engine::Engine(const trace::TraceReader &reader, Settings settings,
               std::vector<TransactionTable> tables, OrderFile order)
    : reader_(reader), settings_(std::move(settings)), tables_(std::move(tables)), code_(reader),
      paths_(code_), lines_(reader.regions(), settings_.model, settings_.fences, user_sites(code_)),
      order_(std::move(order), reader),
      scopes_(code_, paths_, tables_, [this](Scope &scope) { scope_ended(scope); }),
      findings_(code_, paths_), context_{settings_, code_,   paths_,   lines_,
                                         order_,    scopes_, findings_}
{
    for (std::unique_ptr<Rule> &rule : make_rules(context_)) {
        const bool named =
            settings_.rules.empty() || std::find(settings_.rules.begin(), settings_.rules.end(),
                                                 rule->info().name) != settings_.rules.end();
        const Wants wants = named ? rule->wants() : 0;
        if (wants == 0)
            continue;
        const std::pair<Wants, std::vector<Rule *> *> lists[] = {
            {kStores, &store_rules_},         {kTornStores, &torn_rules_},
            {kOverwrites, &overwrite_rules_}, {kFlushes, &flush_rules_},
            {kFences, &fence_rules_},         {kSettled, &settled_rules_},
            {kScopes, &scope_rules_},         {kInFlight, &in_flight_rules_},
            {kFinish, &finish_rules_}};
        for (const auto &list : lists)
            if (wants & list.first)
                list.second->push_back(rule.get());
        rules_.push_back(std::move(rule));
    }
    marker_kinds_ = marker_bit(MarkerKind::epoch) | marker_bit(MarkerKind::strand_begin) |
                    marker_bit(MarkerKind::strand_end);
    if (!order_.empty())
        marker_kinds_ |= marker_bit(MarkerKind::range);
    if (settings_.durable_operations || order_.asks_for_operations())
        marker_kinds_ |= marker_bit(MarkerKind::op_begin) | marker_bit(MarkerKind::op_end);
    const trace::RecordingState state = reader.recording().state;
    recording_ended_ = state == trace::RecordingState::complete;
}

std::vector<std::string> Engine::running() const
{
    std::vector<std::string> names;
    for (const auto &rule : rules_)
        names.emplace_back(rule->info().name);
    return names;
}

inline void Engine::store(std::uint64_t seq, const Event &event)
{
    for (Rule *rule : store_rules_)
        rule->store({seq, event});
    if (!torn_rules_.empty())
        look_for_single_store(seq, event);
    lines_.store(seq, event, [&](const WrittenLine &line, std::uint64_t bytes) {
        const auto unit = static_cast<unsigned>(std::countr_zero(bytes)) / trace::kUnitBytes;
        for (Rule *rule : overwrite_rules_)
            rule->overwrite({seq, event, line, unit});
    });
}

// A store that touches neither the one before nor the one after stands alone; others are parts of a
// copy.
void Engine::look_for_single_store(std::uint64_t seq, const Event &event)
{
    const std::uint64_t end = event.address + event.size;
    const bool joins = event.address <= last_store_end_ && last_store_address_ <= end;
    if (single_.valid) {
        single_.valid = false;
        if (!joins)
            tell_single_store();
    }
    if (event.address % trace::kUnitBytes + event.size > trace::kUnitBytes && !joins)
        single_ = {true, scopes_.in_transaction(event), seq, event};
    last_store_address_ = event.address;
    last_store_end_ = end;
}

void Engine::tell_single_store()
{
    for (Rule *rule : torn_rules_)
        rule->torn_store({single_.seq, single_.event, single_.in_transaction});
}

void Engine::flush(std::uint64_t seq, const Event &event)
{
    const FlushResult result = lines_.flush(seq, event);
    if (!event.has_address() || result.effect == FlushEffect::outside)
        return;
    for (Rule *rule : flush_rules_)
        rule->flush({seq, event, result});
}

void Engine::fence(std::uint64_t seq, const Event &event)
{
    FenceResult result;
    bool ordering = false;
    const auto settled = [&](const WrittenLine &line, std::uint8_t units) {
        ordering |= order_.orders(line.line);
        for (Rule *rule : settled_rules_)
            rule->settled({seq, event, result}, line, units);
    };
    const bool counts =
        order_.empty() && settled_rules_.empty()
            ? lines_.fence(seq, event, result, [](const WrittenLine &, std::uint8_t) {})
            : lines_.fence(seq, event, result, settled);
    if (!counts)
        return;
    for (Rule *rule : fence_rules_)
        rule->fence({seq, event, result});
    if (scopes_.watching())
        scopes_.fence(seq, event, result, ordering);
}

inline void Engine::event(std::uint64_t seq, const Event &event,
                          std::span<const std::byte> wide_values)
{
    if (scopes_.watching()) [[unlikely]]
        scopes_.event(seq, event, wide_values);
    switch (event.kind) {
    case EventKind::store:
    case EventKind::nt_store:
        store(seq, event);
        break;
    case EventKind::flush:
        flush(seq, event);
        break;
    case EventKind::fence:
        fence(seq, event);
        break;
    case EventKind::load:
        ++loads_;
        break;
    case EventKind::marker:
        break;
    }
}

void Engine::marker(const trace::MarkerRow &row, const Event &event)
{
    if (row.kind == MarkerKind::range)
        order_.bind(row);
    else
        scopes_.marker(row, event);
}

// What markers say stands in a table of its own: read for the rest of the block when one is met
// that matters.
void Engine::block(std::uint64_t first_seq, std::span<const Event> events,
                   std::span<const std::byte> wide_values)
{
    std::size_t done = 0;
    const auto go_to = [&](std::size_t end) {
        for (; done < end; ++done)
            event(first_seq + done, events[done], wide_values);
    };
    const auto matters = [&](const Event &one) {
        return one.kind == EventKind::marker && marker_kinds_ >> one.subkind & 1;
    };
    go_to(static_cast<std::size_t>(std::find_if(events.begin(), events.end(), matters) -
                                   events.begin()));
    if (done == events.size())
        return;
    reader_.for_each_marker(
        [&](const trace::MarkerRow &row) {
            if (!(marker_kinds_ & marker_bit(row.kind)))
                return;
            go_to(row.seq - first_seq);
            marker(row, events[done]);
        },
        first_seq + done, first_seq + events.size() - 1);
    go_to(events.size());
}

void Engine::scope_ended(Scope &scope)
{
    if (scope.kind == ScopeKind::operation) {
        if (settings_.durable_operations)
            show_in_flight(&scope);
        return;
    }
    for (Rule *rule : scope_rules_)
        rule->scope_end(scope);
}

// Each write in flight once, in the order of the stores.
void Engine::show_in_flight(const Scope *operation)
{
    struct Left {
        std::uint64_t seq;
        std::uint64_t line;
        unsigned unit;
    };
    std::vector<Left> left;
    lines_.for_each([&](const WrittenLine &line) {
        for (unsigned unit = 0; unit < model::kUnitsPerLine; ++unit) {
            const bool open = (line.in_flight() & ~line.marked) >> unit & 1;
            if (open && (!operation || line.writes[unit].seq() > operation->first_seq))
                left.push_back({line.writes[unit].seq(), line.line, unit});
        }
    });
    std::sort(left.begin(), left.end(), [](const Left &a, const Left &b) {
        return std::tuple(a.seq, a.line, a.unit) < std::tuple(b.seq, b.line, b.unit);
    });
    // A store of several units is one.
    const Left *before = nullptr;
    for (const Left &one : left) {
        const WrittenLine &line = *lines_.find(one.line);
        const bool again = before && before->seq == one.seq && before->line == one.line;
        before = &one;
        if (!again)
            for (Rule *rule : in_flight_rules_)
                rule->in_flight({line, one.unit, operation});
        lines_.mark_reported(line, static_cast<std::uint8_t>(1u << one.unit));
    }
}

void Engine::finish()
{
    if (single_.valid)
        tell_single_store();
    scopes_.finish(events_, recording_ended_);
    if (recording_ended_)
        show_in_flight(nullptr);
    for (Rule *rule : finish_rules_)
        rule->finish();
}

std::vector<std::string> Engine::statements()
{
    std::vector<std::string> all;
    const trace::RecordingState state = reader_.recording().state;
    if (!recording_ended_)
        all.push_back(fmt::format("the recording is {}: what is in flight at its end is not judged",
                                  name_of(state)));
    for (const trace::DataQuality &counter : reader_.data_quality()) {
        if (counter.severity == trace::QualityLevel::error && counter.value != 0)
            all.push_back(fmt::format("{} = {}: {}; findings may be wrong", counter.name,
                                      counter.value, counter.meaning));
        else if (counter.name == trace::kLostFlushes && counter.value != 0)
            all.push_back(fmt::format("{} = {}: {}", counter.name, counter.value, counter.meaning));
    }
    if (code_.nameless_sites() != 0)
        all.push_back(
            fmt::format("{} of {} sites have no symbol: they are named by their place in a "
                        "file or in memory, and suppressions by function do not match them",
                        code_.nameless_sites(), code_.sites().size() - 1));
    if (code_.dangling() != 0)
        all.push_back(fmt::format("{} references to code lead nowhere: such callers are left out",
                                  code_.dangling()));
    if (lines_.outside() != 0)
        all.push_back(
            fmt::format("{} stores or flushes are outside of every PM region and were left out",
                        lines_.outside()));
    if (loads_ != 0)
        all.push_back(fmt::format("{} of the events are loads, which no rule is about", loads_));
    for (std::string &one : order_.take_statements())
        all.push_back(std::move(one));
    for (std::string &one : scopes_.take_statements())
        all.push_back(std::move(one));
    return all;
}

findings::Report Engine::run()
{
    CHECK(reader_.event_count() >> 48 == 0, "a seq fits into 48 bits");
    trace::EventScan scan = reader_.scan({.with_values = scopes_.needs_values()});
    while (scan.next()) {
        throw_if_interrupted();
        CHECK(scan.all_selected(), "a scan without filters selects all events");
        block(scan.first_seq(), scan.events(), scan.wide_values());
        events_ += scan.events().size();
    }
    finish();
    findings::Report report;
    report.findings = findings_.name_all();
    for (const RuleInfo *rule : all_rules())
        report.catalog.push_back({std::string(rule->name), std::string(rule->sentence),
                                  std::string(rule->certainty), rule->severity});
    report.summary = {.events = events_,
                      .model = std::string(name_of(settings_.model)),
                      .fences = std::string(name_of(settings_.fences)),
                      .persistency = std::string(name_of(settings_.persistency)),
                      .rules = running(),
                      .statements = statements(),
                      .complete = recording_ended_};
    return report;
}

} // namespace fencepost::rules
