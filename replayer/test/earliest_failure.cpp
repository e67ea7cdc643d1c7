// SPDX-License-Identifier: GPL-2.0-or-later
// See earliest_failure.h.
#include "replayer/test/earliest_failure.h"

#include <vector>

#include "replayer/states/level_path.h"

namespace fencepost::test {

using states::Base;
using states::CrashState;
using states::LevelPath;
using states::Levels;

namespace {

// Where states are looked at.
class PointList : public states::StateListener {
public:
    void event(std::uint64_t, const trace::Event &, std::span<const std::byte>,
               const model::InFlight &) override
    {
    }
    void crash_point(const states::CrashPoint &point, const states::ItemTable *,
                     const model::InFlight &) override
    {
        if (point.has_states())
            seqs.push_back(point.seq);
    }
    bool state(const states::StateView &) override { return true; }

    std::vector<std::uint64_t> seqs;
};

std::vector<std::uint64_t> points_between(const TracePoints &points, const CrashState &failing,
                                          std::uint64_t first)
{
    states::WalkOptions options = states::options_of(failing, points.incidental);
    options.promise = points.promise;
    options.window = {.first_seq = first, .last_seq = failing.seq};
    PointList list;
    states::StateWalk(points.reader, options).run(list);
    while (!list.seqs.empty() && list.seqs.back() >= failing.seq)
        list.seqs.pop_back();
    return list.seqs;
}

// The nearest state to nothing or everything in flight that has, or lacks, these stores.
Levels levels_with(const states::ItemTable &table, Base base, const std::set<std::uint64_t> &stores)
{
    const Base other = base == Base::none ? Base::all : Base::none;
    const LevelPath path(table, states::levels_of(table, base), states::levels_of(table, other));
    std::vector<std::size_t> chosen;
    for (std::size_t i = 0; i < path.changes().size(); ++i)
        if (stores.contains(path.changes()[i].seq))
            chosen.push_back(i);
    return path.with(0, chosen);
}

// What has nothing of what is needed, or lacks nothing of it, may fail because of another bug.
std::vector<Levels> candidates(const states::ItemTable &table, const NeededStores &needed)
{
    std::vector<Levels> asked;
    if (!needed.persisted.empty() || needed.lost.empty())
        asked.push_back(levels_with(table, Base::none, needed.persisted));
    if (!needed.lost.empty() || needed.persisted.empty())
        asked.push_back(levels_with(table, Base::all, needed.lost));
    return asked;
}

} // namespace

std::optional<CrashState> find_earliest_failure(const TracePoints &points,
                                                const CrashState &failing,
                                                const NeededStores &needed, StateAsker &asker)
{
    const std::uint64_t first = needed.persisted.empty() ? 0 : *needed.persisted.rbegin() + 1;
    if (first >= failing.seq)
        return std::nullopt;
    const std::vector<std::uint64_t> seqs = points_between(points, failing, first);
    std::optional<CrashState> earliest;
    bool stopped = false;
    const auto fails_at = [&](std::uint64_t seq) {
        CrashState asked = failing;
        asked.seq = seq;
        asked.choice = {};
        bool fails = false;
        image::open_point(points.reader, points.initial, asked, points.incidental,
                          [&](image::OpenPoint &point) {
                              asker.enter(point);
                              for (const Levels &levels : candidates(point.items(), needed)) {
                                  const std::optional<Said> said = asker.ask(point, levels);
                                  stopped = stopped || !said;
                                  fails = said == Said::fails_alike;
                                  if (fails)
                                      earliest = point.state(levels);
                                  if (fails || stopped)
                                      return;
                              }
                          });
        return fails;
    };
    std::size_t low = 0; // no crash point before fails, as far as known
    std::size_t high = seqs.size();
    while (low < high && !stopped) {
        const std::size_t middle = low + (high - low) / 2;
        if (fails_at(seqs[middle]))
            high = middle;
        else
            low = middle + 1;
    }
    return earliest;
}

} // namespace fencepost::test
