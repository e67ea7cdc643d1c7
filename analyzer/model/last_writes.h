// SPDX-License-Identifier: GPL-2.0-or-later
// What is in flight, unit by unit: the last write of each, and whose fence would guarantee it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "analyzer/model/guarantees.h"
#include "trace/event.h"

namespace fencepost::model {

// The last write of a unit.
struct UnitWrite {
    std::uint64_t seq_and_vcpu;
    trace::SiteId site;
    trace::StackId stack;

    std::uint64_t seq() const { return seq_and_vcpu >> 16; }
    std::uint16_t vcpu() const { return static_cast<std::uint16_t>(seq_and_vcpu); }
    trace::EventRef event() const { return {seq(), site, stack}; }
};

// Masks have a bit a unit.
struct alignas(64) WrittenLine {
    static constexpr std::uint64_t kGone = UINT64_MAX;

    std::uint64_t line = kGone; // kGone: nothing of it is in flight
    // Written and not known to be guaranteed, a bit a byte. Where one unit is written in parts by
    // several vCPUs or kinds of stores, an earlier part stays until the unit has left flight.
    std::uint64_t bytes = 0;
    std::uint64_t flushed_bytes = 0; // those of them that last_flush covers
    LastFlush last_flush = {};
    std::uint32_t nt_vcpu = kNone; // of all in `nt`; kNone: of several
    std::uint32_t mixed = kNone;   // see LastWrites
    std::uint8_t cached = 0;       // units whose last write is a cached store in flight
    std::uint8_t flushed = 0;      // those of them that last_flush covers
    std::uint8_t nt = 0;           // units whose last write is a non-temporal store in flight
    std::uint8_t marked = 0;       // the caller's, see LastWrites::mark()
    // Of the units in `cached` and `nt`; the others are left over from before.
    alignas(64) std::array<UnitWrite, kUnitsPerLine> writes;

    std::uint8_t in_flight() const { return cached | nt; }
};

// A store's part of one line.
struct LinePart {
    std::uint64_t line;
    std::uint64_t bytes; // a bit each
    unsigned first;      // unit
    unsigned last;
    std::uint8_t units; // a bit each
};

// The same model as PersistenceModel for those who ask what is in flight and not which states there
// are. Pieces of a unit persist in order (docs/explanation/persistence-model.md), so a unit is in
// flight exactly while its last write is: that write is all that is kept, and a line that is
// written over and over costs no more than one that is written once.
//
// Lines in flight have numbers. The caller has a table of lines anyway and keeps there what open()
// said last of each, 0 at first.
class LastWrites {
public:
    // adr or eadr.
    LastWrites(ModelKind kind, FenceRule rule);

    // Null: nothing of the line is in flight.
    const WrittenLine *find(std::uint64_t line, std::uint32_t number) const
    {
        return lines_[number].line == line ? &lines_[number] : nullptr;
    }
    // The line's number from now on.
    std::uint32_t open(std::uint64_t line, std::uint32_t number)
    {
        return lines_[number].line == line ? number : open_new(line);
    }

    // Whether a store is guaranteed once executed: pass() is all that it needs.
    bool at_once(const trace::Event &store) const { return guarantees_.at_once(store); }
    void pass(std::uint64_t line, std::uint8_t units, std::uint32_t number)
    {
        if (lines_[number].line == line)
            take_out(number, units);
    }
    // Calls overwritten(line, bytes) before bytes in flight are written over.
    template <typename Overwritten>
    void write(std::uint64_t seq, const trace::Event &event, const LinePart &part,
               std::uint32_t number, Overwritten &&overwritten);
    // `number`: of the flushed line, if one is named.
    void flush(std::uint64_t seq, const trace::Event &event, std::uint32_t number);
    // Calls settled(line, units) before units that the fence guarantees leave flight. Returns
    // whether it is a fence that counts.
    template <typename Settled>
    bool fence(std::uint64_t seq, const trace::Event &event, Settled &&settled);

    // Whether the last write of a unit in flight would be guaranteed if locked instructions
    // counted as fences. May miss that where several vCPUs flush a line.
    bool relies_on_lock(const WrittenLine &line, unsigned unit) const;
    // A mark stays on the last writes of units for as long as they are that, and in flight.
    void mark(const WrittenLine &line, std::uint8_t units)
    {
        lines_[number_of(line)].marked |= units;
    }

    // In no order that means anything.
    template <typename Visit> void for_each(Visit &&visit) const
    {
        for (const WrittenLine &line : lines_)
            if (line.line != WrittenLine::kGone)
                visit(line);
    }

    // What Guarantees asks.
    std::size_t line_count() const { return lines_.size(); } // numbers in use at once, at most
    std::uint64_t line_of(std::uint32_t number) const { return lines_[number].line; }
    bool has_cached(std::uint32_t number) const { return lines_[number].cached != 0; }
    bool has_cached_before(std::uint32_t number, std::uint64_t seq) const
    {
        return cached_before(lines_[number], seq) != 0;
    }
    bool has_non_temporal(std::uint32_t number) const
    {
        return lines_[number].nt != 0 || lines_[number].mixed != kNone;
    }
    const LastFlush &last_flush(std::uint32_t number) const { return lines_[number].last_flush; }
    void note_flush(std::uint32_t number, const LastFlush &flush);
    bool is_flushed_by(std::uint16_t vcpu, std::uint32_t number) const
    {
        const WrittenLine &line = lines_[number];
        return line.cached == line.flushed && line.last_flush.vcpu == vcpu;
    }
    template <typename Visit> void for_each_line(Visit &&visit)
    {
        for (std::uint32_t number = 1; number < lines_.size(); ++number)
            visit(number);
    }

private:
    // Where a piece stands among those of its line: pieces of one store persist in the order of
    // their units.
    static std::uint64_t position(std::uint64_t seq, unsigned unit)
    {
        return seq * kUnitsPerLine + unit;
    }

    // Of a line with a non-temporal store over a cached one in flight, which must be in PM before
    // it, and with it all cached ones before that.
    struct Mixed {
        std::uint8_t over_cached = 0;                        // units with such a store
        std::array<std::uint64_t, kUnitsPerLine> under = {}; // positions of their last cached store
        // The last position that comes with the next fence of a vCPU.
        struct Carried {
            std::uint16_t vcpu;
            std::uint64_t position;
        };
        std::vector<Carried> carried = {};

        void carry(std::uint16_t vcpu, std::uint64_t position);
    };

    std::uint32_t number_of(const WrittenLine &line) const
    {
        return static_cast<std::uint32_t>(&line - lines_.data());
    }
    std::uint32_t open_new(std::uint64_t line);
    void take_out(std::uint32_t number, std::uint8_t units);
    void wait_non_temporal(std::uint16_t vcpu, std::uint32_t number);
    void carry(std::uint16_t vcpu, WrittenLine &line, std::uint8_t units);
    std::uint8_t take_carried(std::uint16_t vcpu, const WrittenLine &line);
    static std::uint8_t cached_before(const WrittenLine &line, std::uint64_t seq);
    static std::uint8_t non_temporal_of(const WrittenLine &line, std::uint16_t vcpu);
    std::uint8_t cover(WrittenLine &line, const Covered &covered);

    Guarantees guarantees_;
    std::vector<WrittenLine> lines_; // the first is nobody's
    std::vector<std::uint32_t> free_lines_;
    std::vector<Mixed> mixed_;
    std::vector<std::uint32_t> free_mixed_;
    // By vCPU: its last locked instruction, while those do not count.
    std::vector<std::uint64_t> last_locked_;
};

template <typename Overwritten>
inline void LastWrites::write(std::uint64_t seq, const trace::Event &event, const LinePart &part,
                              std::uint32_t number, Overwritten &&overwritten)
{
    WrittenLine &line = lines_[number];
    if (line.bytes & part.bytes)
        overwritten(std::as_const(line), line.bytes & part.bytes);
    const std::uint8_t units = part.units;
    const auto others = static_cast<std::uint8_t>(~units);
    if (event.kind == trace::EventKind::nt_store) {
        if ((line.cached & units) || line.mixed != kNone) [[unlikely]]
            carry(event.vcpu, line, units);
        if (line.nt == 0 || line.nt_vcpu != event.vcpu)
            wait_non_temporal(event.vcpu, number);
        line.cached &= others;
        line.nt |= units;
    } else {
        if (line.mixed != kNone) [[unlikely]]
            mixed_[line.mixed].over_cached &= others;
        line.cached |= units;
        line.nt &= others;
    }
    line.flushed &= others;
    line.marked &= others;
    line.bytes |= part.bytes;
    line.flushed_bytes &= ~part.bytes;
    const UnitWrite write = {seq << 16 | event.vcpu, event.site, event.stack};
    for (unsigned unit = part.first; unit <= part.last; ++unit)
        line.writes[unit] = write;
}

// The units that become guaranteed. Those that a flush covers, or that are of one vCPU, are known
// without a look at the writes, and that is nearly all of them.
inline std::uint8_t LastWrites::cover(WrittenLine &line, const Covered &covered)
{
    if (covered.non_temporal_of == kNone) {
        if (line.last_flush.seq != covered.cached_before)
            return cached_before(line, covered.cached_before);
        line.bytes &= ~line.flushed_bytes;
        line.flushed_bytes = 0;
        return line.flushed;
    }
    const auto vcpu = static_cast<std::uint16_t>(covered.non_temporal_of);
    std::uint8_t units = line.nt_vcpu == vcpu ? line.nt : non_temporal_of(line, vcpu);
    if (line.mixed != kNone) [[unlikely]]
        units |= take_carried(vcpu, line);
    return units;
}

template <typename Settled>
bool LastWrites::fence(std::uint64_t seq, const trace::Event &event, Settled &&settled)
{
    if (!guarantees_.is_fence(event)) {
        if (counts_as_fence(event, FenceRule::architectural)) {
            if (event.vcpu >= last_locked_.size())
                last_locked_.resize(event.vcpu + 1u);
            last_locked_[event.vcpu] = seq;
        }
        return false;
    }
    guarantees_.fence(event.vcpu, [&](std::uint32_t number, const Covered &covered) {
        const std::uint8_t units = cover(lines_[number], covered);
        if (units == 0)
            return;
        settled(std::as_const(lines_[number]), units);
        take_out(number, units);
    });
    return true;
}

inline bool is_in_one_unit(const trace::Event &store)
{
    return store.address % trace::kUnitBytes + store.size <= trace::kUnitBytes;
}

// Of a store that is in one unit.
inline LinePart part_in_unit(const trace::Event &store)
{
    const unsigned start = store.address % trace::kLineBytes;
    const unsigned unit = start / unsigned{trace::kUnitBytes};
    return {.line = store.first_line(),
            .bytes = ((std::uint64_t{1} << store.size) - 1) << start,
            .first = unit,
            .last = unit,
            .units = static_cast<std::uint8_t>(1u << unit)};
}

// Calls visit(part) for the lines of a store.
template <typename Visit> void cut_lines(const trace::Event &store, Visit &&visit)
{
    for (unsigned done = 0; done < store.size;) {
        const std::uint64_t address = store.address + done;
        const unsigned start = address % trace::kLineBytes;
        const unsigned size = std::min<unsigned>(store.size - done, trace::kLineBytes - start);
        const unsigned first = start / unsigned{trace::kUnitBytes};
        const unsigned last = (start + size - 1) / unsigned{trace::kUnitBytes};
        visit(LinePart{.line = address / trace::kLineBytes,
                       .bytes = ~std::uint64_t{0} >> (trace::kLineBytes - size) << start,
                       .first = first,
                       .last = last,
                       .units = static_cast<std::uint8_t>((2u << last) - (1u << first))});
        done += size;
    }
}

} // namespace fencepost::model
