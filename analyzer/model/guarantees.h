// SPDX-License-Identifier: GPL-2.0-or-later
// When what was written becomes guaranteed: flushes, non-temporal stores, and whose fence they wait
// for. The half of the model that does not depend on how much is kept of a line.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "analyzer/model/model_kind.h"
#include "analyzer/model/piece.h"

namespace fencepost::model {

// What an event guarantees by itself; what must be in PM before it follows from the order in which
// pieces of a line persist.
struct Covered {
    std::uint64_t cached_before = 0;       // cached pieces of stores with a smaller seq
    std::uint32_t non_temporal_of = kNone; // non-temporal pieces of this vCPU
    std::uint8_t units = 0;                // everything in these units (bit u)

    bool covers(const Piece &piece) const
    {
        return (piece.non_temporal ? piece.vcpu == non_temporal_of : piece.seq < cached_before) ||
               (units >> piece.unit() & 1);
    }
};

// The last flush of a line since it is in flight that waits, or has waited, for a fence. It covers
// the cached pieces with a smaller seq.
struct LastFlush {
    std::uint64_t seq = 0;   // 0 = none: what it covers was stored before it
    std::uint32_t entry = 0; // its place among those that wait, see Guarantees
    std::uint16_t vcpu = 0;
};

// adr: a cached store is guaranteed once its line was flushed and the flushing vCPU has executed a
// fence (clflush, wbinvd: once flushed); a non-temporal store at its own vCPU's next fence. A flush
// is about caches: it does not reach what is in a write-combining buffer. eadr: a cached store is
// guaranteed once executed, so that flushes find nothing to do.
//
// `Lines` keeps what is in flight, lines by number: InFlight every piece, LastWrites the last write
// of each unit. `settle(number, covered)` takes out of it what an event guarantees. It has
//   line_count(), line_of(number)
//   has_cached(number), has_cached_before(number, seq), has_non_temporal(number)
//   last_flush(number), note_flush(number, LastFlush)
//   is_flushed_by(vcpu, number)    all that is cached waits for a fence of this vCPU
//   for_each_line(visit(number))   visit() may take the line out
// An entry that waits for a fence may outlive its line, and the number may stand for another one by
// then. That does no harm: what is there was stored after the flush, or waits for the same fence.
class Guarantees {
public:
    Guarantees(ModelKind kind, FenceRule rule)
        : caches_survive_(kind == ModelKind::eadr), rule_(rule)
    {
    }

    // Whether a store is guaranteed once executed, with all that was written to its units before.
    bool at_once(const trace::Event &store) const
    {
        return caches_survive_ && store.kind == trace::EventKind::store;
    }
    bool is_fence(const trace::Event &event) const { return counts_as_fence(event, rule_); }

    // A non-temporal store was added to a line.
    template <typename Lines>
    void wait_non_temporal(const Lines &lines, std::uint16_t vcpu, std::uint32_t number)
    {
        Waiting &waiting = waiting_for(vcpu);
        if (!waiting.non_temporal.empty() && waiting.non_temporal.back() == number)
            return;
        waiting.non_temporal.push_back(number);
        if (too_many(waiting.non_temporal.size(), lines.line_count()))
            prune(lines, waiting);
    }

    // `number` is that of the flushed line; kNone: it is not in flight, or no line is named.
    template <typename Lines, typename Settle>
    void flush(Lines &lines, std::uint64_t seq, const trace::Event &event, std::uint32_t number,
               Settle &&settle)
    {
        if (!event.has_address()) { // wbinvd, wbnoinvd
            lines.for_each_line([&](std::uint32_t each) {
                if (lines.has_cached(each))
                    settle(each, Covered{.cached_before = seq});
            });
            return;
        }
        if (number == kNone || !lines.has_cached(number))
            return;
        if (event.flush_kind() == trace::FlushKind::clflush)
            settle(number, Covered{.cached_before = seq});
        else if (!lines.is_flushed_by(event.vcpu, number))
            wait_flush(lines, seq, event.vcpu, number);
    }

    // A fence that counts.
    template <typename Settle> void fence(std::uint16_t vcpu, Settle &&settle)
    {
        Waiting &waiting = waiting_for(vcpu);
        for (const Flush &flush : waiting.flushes)
            settle(flush.number, Covered{.cached_before = flush.seq});
        waiting.flushes.clear();
        for (const std::uint32_t number : waiting.non_temporal)
            settle(number, Covered{.non_temporal_of = vcpu});
        waiting.non_temporal.clear();
    }

    // Whether a fence of this vCPU would complete a flush of something in flight.
    template <typename Lines> bool completes_flush(const Lines &lines, std::uint16_t vcpu) const
    {
        return vcpu < waiting_.size() &&
               std::any_of(waiting_[vcpu].flushes.begin(), waiting_[vcpu].flushes.end(),
                           [&](const Flush &flush) {
                               return lines.has_cached_before(flush.number, flush.seq);
                           });
    }

private:
    struct Flush {
        std::uint64_t seq;
        std::uint32_t number;
    };
    // What the next fence of a vCPU completes.
    struct Waiting {
        std::vector<Flush> flushes;
        std::vector<std::uint32_t> non_temporal;
    };

    Waiting &waiting_for(std::uint16_t vcpu)
    {
        if (vcpu >= waiting_.size()) [[unlikely]]
            waiting_.resize(vcpu + 1u);
        return waiting_[vcpu];
    }

    template <typename Lines>
    void wait_flush(Lines &lines, std::uint64_t seq, std::uint16_t vcpu, std::uint32_t number)
    {
        Waiting &waiting = waiting_for(vcpu);
        const LastFlush &last = lines.last_flush(number);
        // A line flushed over and over needs one entry.
        const bool again = last.seq != 0 && last.vcpu == vcpu &&
                           last.entry < waiting.flushes.size() &&
                           waiting.flushes[last.entry].number == number;
        const std::uint32_t entry =
            again ? last.entry : static_cast<std::uint32_t>(waiting.flushes.size());
        lines.note_flush(number, {seq, entry, vcpu});
        if (again) {
            waiting.flushes[entry].seq = seq;
            return;
        }
        waiting.flushes.push_back({seq, number});
        if (too_many(waiting.flushes.size(), lines.line_count()))
            prune(lines, waiting);
    }

    // Without fences, entries that mean nothing any more would pile up; this keeps them below a
    // multiple of what is in flight.
    static bool too_many(std::size_t entries, std::size_t lines)
    {
        return entries > 4096 && entries > 4 * lines;
    }

    template <typename Lines> static void prune(const Lines &lines, Waiting &waiting)
    {
        std::vector<Flush> &flushes = waiting.flushes;
        std::erase_if(flushes, [&](const Flush &flush) {
            return !lines.has_cached_before(flush.number, flush.seq);
        });
        std::sort(flushes.begin(), flushes.end(), [&](const Flush &a, const Flush &b) {
            return a.number != b.number ? lines.line_of(a.number) < lines.line_of(b.number)
                                        : a.seq > b.seq;
        });
        // The later flush of a line covers what the earlier one does.
        const auto same = [](const Flush &a, const Flush &b) { return a.number == b.number; };
        flushes.erase(std::unique(flushes.begin(), flushes.end(), same), flushes.end());
        std::vector<std::uint32_t> &numbers = waiting.non_temporal;
        std::erase_if(numbers, [&](std::uint32_t each) { return !lines.has_non_temporal(each); });
        std::sort(numbers.begin(), numbers.end());
        numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    }

    const bool caches_survive_;
    const FenceRule rule_;
    std::vector<Waiting> waiting_; // by vCPU
};

} // namespace fencepost::model
