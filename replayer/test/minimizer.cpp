// SPDX-License-Identifier: GPL-2.0-or-later
// See minimizer.h.
#include "replayer/test/minimizer.h"

#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

#include "base/error.h"
#include "base/json.h"
#include "replayer/image/state_delta.h"
#include "replayer/test/store_differences.h"

namespace fencepost::test {

using states::Base;
using states::LevelPath;
using states::Levels;

namespace {

std::set<std::uint64_t> changed_stores(const states::ItemTable &table, Base base,
                                       const Levels &levels)
{
    std::set<std::uint64_t> seqs;
    const LevelPath path(table, states::levels_of(table, base), levels);
    for (const states::LevelChange &each : path.changes())
        seqs.insert(each.seq);
    return seqs;
}

NeededStores needed_between(const states::ItemTable &table, const Levels &passing,
                            const Levels &failing)
{
    NeededStores needed;
    const LevelPath path(table, passing, failing);
    for (const states::LevelChange &each : path.changes())
        (each.persists ? needed.persisted : needed.lost).insert(each.seq);
    return needed;
}

} // namespace

Minimizer::Minimizer(const run::RunFiles &run, const trace::TraceReader &reader,
                     const trace::IncidentalFences &incidental, const WorkerPlan &plan)
    : run_(run), points_{reader, plan.initial, incidental,
                         [&plan](std::uint64_t seq) { return plan.judge.expectation(seq); }},
      known_(run.results()), asker_(plan, known_), names_(reader), operations_(reader),
      noter_(run, reader)
{
}

std::optional<MinimalFinding> Minimizer::minimize(const findings::Finding &finding,
                                                  const StateAsker::Limits &limits)
{
    if (finding.state.empty())
        return std::nullopt;
    MinimalFinding minimal = {.finding = finding.id, .of_state = finding.state};
    NeededStores needed;
    asker_.begin(finding, limits);
    const states::CrashState state = kept_state(run_.results(), finding.state);
    with_kept_state(run_.results(), [&] {
        image::open_point(points_.reader, points_.initial, state, points_.incidental,
                          [&](image::OpenPoint &point) { search(point, minimal, needed); });
    });
    if (minimal.reproduced && minimal.complete)
        find_earliest(finding, needed, minimal);
    minimal.asked = asker_.asked();
    minimal.known = asker_.known();
    minimal.seconds = asker_.seconds();
    minimal.interrupted = asker_.interrupted();
    if (minimal.reproduced) {
        if (!minimal.interrupted)
            annotate(minimal);
        write(minimal);
    }
    return minimal;
}

void Minimizer::search(image::OpenPoint &point, MinimalFinding &minimal, NeededStores &needed)
{
    asker_.enter(point);
    const states::ItemTable &table = point.items();
    const Minimum found =
        minimize_state(table, point.levels(), asker_.known_passes(point),
                       [&](const Levels &levels) { return asker_.ask(point, levels); });
    minimal.reproduced = found.reproduced;
    minimal.complete = found.complete;
    minimal.exact = found.holds_between;
    if (!found.reproduced)
        return;
    const auto stores = [&](const Levels &failing, const Levels &other) {
        return stores_between(point, failing, other, names_, operations_);
    };
    minimal.failing.state = states::id_of(point.state(found.failing));
    minimal.persisted = stores(found.fewest, states::levels_of(table, Base::none));
    minimal.lost = stores(found.most, states::levels_of(table, Base::all));
    if (found.fails_at_both_ends && found.passing)
        needed = needed_between(table, *found.passing, found.failing);
    else
        needed = {changed_stores(table, Base::none, found.fewest),
                  changed_stores(table, Base::all, found.most)};
    minimal.failing.confirmed =
        found.complete && asker_.confirm(point, found.failing, Said::fails_alike);
    if (!found.passing)
        return;
    minimal.differ = stores(found.failing, *found.passing);
    minimal.passing = MinimalState{states::id_of(point.state(*found.passing))};
    minimal.passing->confirmed =
        found.complete && asker_.confirm(point, *found.passing, Said::passes);
}

void Minimizer::find_earliest(const findings::Finding &finding, const NeededStores &needed,
                              MinimalFinding &minimal)
{
    // One that is known costs nothing.
    states::CrashState earliest = states::parse_crash_state(minimal.failing.state);
    if (auto known = known_.earliest_state(finding.id); known && known->seq < earliest.seq)
        earliest = std::move(*known);
    if (auto found = find_earliest_failure(points_, earliest, needed, asker_))
        earliest = std::move(*found);
    minimal.earliest = {states::id_of(earliest), earliest.seq, operations_.at(earliest.seq)};
    if (earliest.seq < states::parse_crash_state(minimal.failing.state).seq)
        search_earliest(minimal);
}

// What is guaranteed later is in flight there, so more stores may matter.
void Minimizer::search_earliest(MinimalFinding &minimal)
{
    MinimalFinding found;
    NeededStores needed;
    image::open_point(points_.reader, points_.initial,
                      states::parse_crash_state(minimal.earliest->state), points_.incidental,
                      [&](image::OpenPoint &point) { search(point, found, needed); });
    if (!found.reproduced || !found.complete)
        return;
    minimal.exact = found.exact;
    minimal.failing = std::move(found.failing);
    minimal.passing = std::move(found.passing);
    minimal.differ = std::move(found.differ);
    minimal.persisted = std::move(found.persisted);
    minimal.lost = std::move(found.lost);
}

void Minimizer::annotate(MinimalFinding &minimal)
{
    std::vector<StoredBytes *> ranges;
    for (std::vector<MinimalStore> *stores : {&minimal.differ, &minimal.persisted, &minimal.lost})
        for (MinimalStore &store : *stores)
            for (StoredBytes &range : store.bytes)
                ranges.push_back(&range);
    std::vector<std::uint64_t> addresses;
    for (const StoredBytes *range : ranges)
        addresses.push_back(range->address);
    const annotate::PlaceNotes notes =
        noter_.ask(points_.initial, states::parse_crash_state(minimal.failing.state).seq,
                   std::move(addresses));
    for (StoredBytes *range : ranges)
        if (const auto found = notes.places.find(range->address); found != notes.places.end())
            range->belongs_to = found->second;
    if (!notes.missing.empty())
        spdlog::info("places in PM are not annotated: {}", notes.missing);
}

void Minimizer::write(const MinimalFinding &minimal) const
{
    CHECK(run::is_finding_id(minimal.finding), "a finding's id names a folder");
    const Folder folder = run_.folder().made_below("findings").made_below(minimal.finding);
    folder.remove("minimal.json"); // it vouches for the deltas
    const auto write_delta = [&](const char *name, const std::string &state) {
        const std::vector<std::byte> delta = image::encode_delta(image::delta_of(
            points_.reader, points_.initial, states::parse_crash_state(state), points_.incidental));
        folder.write(name, {reinterpret_cast<const char *>(delta.data()), delta.size()});
    };
    write_delta("fail.delta", minimal.failing.state);
    if (minimal.passing)
        write_delta("pass.delta", minimal.passing->state);
    else
        folder.remove("pass.delta");
    folder.write("minimal.json", json_document(to_json(minimal, points_.initial.regions())));
}

} // namespace fencepost::test
