// SPDX-License-Identifier: GPL-2.0-or-later
// See crash_turns.h.
#include "replayer/states/crash_turns.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace fencepost::states {

namespace {

// The crash points in the first turn after each thing that the user's code does, and how often that
// counts for the same place in it.
constexpr unsigned kOpen = 2;
constexpr std::uint64_t kMostOpenings = 8;
// A path's other crash points up to these numbers come in the second turn, the third and so on.
constexpr std::array<std::uint64_t, 3> kTurnEnds = {8, 64, 512};
constexpr std::size_t kTurns = kTurnEnds.size() + 3; // and its rest, and code without a path

// What the user's own code has to do with an event: its functions in the call stack, by number.
class OwnPaths {
public:
    OwnPaths(const trace::TraceReader &reader, const std::vector<std::string> &modules)
    {
        const auto is_own = [&](trace::Privilege privilege, const std::string &module) {
            return privilege == trace::Privilege::user &&
                   std::find(modules.begin(), modules.end(), module) != modules.end();
        };
        for (const trace::SiteRow &row : reader.sites())
            mark(own_sites_, row.site.id, is_own(row.site.privilege, row.site.module));
        std::vector<bool> own_frames;
        for (const trace::StackFrameRow &row : reader.stack_frames())
            mark(own_frames, row.frame.id, is_own(row.frame.privilege, row.frame.module));
        for (const trace::Stack &each : reader.stacks()) { // callers before those whom they call
            const std::uint32_t below = of_stack(each.parent);
            of_stacks_.resize(std::max<std::size_t>(of_stacks_.size(), each.id + 1));
            of_stacks_[each.id] = has(own_frames, each.frame) ? step({below, each.frame}) : below;
        }
    }

    bool empty() const { return !any_; }
    // 0: nothing.
    std::uint32_t of(const trace::Event &event)
    {
        const std::uint32_t below = of_stack(event.stack);
        return has(own_sites_, event.site) ? step({below, std::uint64_t{1} << 32 | event.site})
                                           : below;
    }

private:
    using Step = std::pair<std::uint32_t, std::uint64_t>; // the path to a place, and the place

    void mark(std::vector<bool> &bits, std::uint32_t id, bool value)
    {
        any_ = any_ || value;
        bits.resize(std::max<std::size_t>(bits.size(), id + std::size_t{1}));
        bits[id] = value;
    }
    static bool has(const std::vector<bool> &bits, std::uint32_t id)
    {
        return id < bits.size() && bits[id];
    }
    std::uint32_t of_stack(trace::StackId stack) const
    {
        return stack < of_stacks_.size() ? of_stacks_[stack] : 0;
    }
    std::uint32_t step(const Step &step)
    {
        return steps_.emplace(step, static_cast<std::uint32_t>(steps_.size() + 1)).first->second;
    }

    bool any_ = false;
    std::vector<bool> own_sites_;
    std::vector<std::uint32_t> of_stacks_;
    std::map<Step, std::uint32_t> steps_;
};

// Follows a trace and tells the turn of each crash point.
class Turns {
public:
    Turns(const trace::TraceReader &reader, const std::vector<std::string> &modules)
        : paths_(reader, modules)
    {
    }

    bool one_does() const { return paths_.empty(); }

    void event(const trace::Event &event)
    {
        if (event.kind == trace::EventKind::marker)
            return;
        latest_ = paths_.of(event);
        if (latest_ == 0 || latest_ == own_)
            return;
        own_ = latest_;
        if (counts(own_).openings++ < kMostOpenings)
            open_ = kOpen;
    }

    std::size_t next()
    {
        if (open_ != 0) {
            --open_;
            return 0;
        }
        if (latest_ == 0)
            return kTurns - 1;
        const auto end =
            std::upper_bound(kTurnEnds.begin(), kTurnEnds.end(), counts(latest_).crash_points++);
        return 1 + static_cast<std::size_t>(end - kTurnEnds.begin());
    }

private:
    struct Counts {
        std::uint64_t openings = 0;
        std::uint64_t crash_points = 0;
    };

    Counts &counts(std::uint32_t path)
    {
        counts_.resize(std::max<std::size_t>(counts_.size(), path + std::size_t{1}));
        return counts_[path];
    }

    OwnPaths paths_;
    std::uint32_t latest_ = 0;
    std::uint32_t own_ = 0; // the latest that is not 0
    unsigned open_ = 0;
    std::vector<Counts> counts_; // by path
};

} // namespace

std::vector<std::vector<Span>> crash_turns(const trace::TraceReader &reader,
                                           const WalkOptions &options,
                                           const std::vector<std::string> &own_modules)
{
    Turns order(reader, own_modules);
    if (order.one_does())
        return {};
    std::vector<std::vector<Span>> turns(kTurns);
    std::size_t latest = kTurns;
    StateWalk(reader, options)
        .for_each_crash_point(
            [&](const CrashPoint &point) {
                const std::size_t turn = order.next();
                if (turn == latest)
                    turns[turn].back().last_seq = point.seq;
                else
                    turns[turn].push_back({point.seq, point.seq});
                latest = turn;
            },
            [&](std::uint64_t, const trace::Event &event) { order.event(event); });
    std::erase_if(turns, [](const std::vector<Span> &turn) { return turn.empty(); });
    if (turns.size() == 1)
        turns.clear();
    return turns;
}

} // namespace fencepost::states
