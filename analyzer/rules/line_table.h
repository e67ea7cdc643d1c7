// SPDX-License-Identifier: GPL-2.0-or-later
// What the rules know of each line of PM: the last write of each unit in flight, and its history.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "analyzer/model/persistence_model.h"
#include "trace/event.h"
#include "trace/records.h"

namespace fencepost::rules {

inline constexpr unsigned kUnits = trace::kLineBytes / trace::kUnitBytes;

// An event as findings refer to it.
struct Origin {
    std::uint64_t seq = 0;
    trace::SiteId site = 0;
    trace::StackId stack = 0;
};

// A line in flight. Pieces of a unit persist in order (docs/explanation/persistence-model.md), so a
// unit is in flight exactly while its last write is: that write is all that is kept, and memory
// does not grow with a line that is written over and over. A property test compares this table with
// the model.
struct LineState {
    std::uint64_t line = 0;
    std::uint8_t cached = 0;      // units whose last write is a cached store
    std::uint8_t flushed = 0;     // those of them that a flush covers which waits for its fence
    std::uint8_t nt = 0;          // units whose last write is non-temporal
    std::uint8_t over_cached = 0; // those of them that were written over a cached store in flight
    std::uint8_t reported = 0;    // units of which a finding has been made
    bool in_use = false;
    std::uint16_t flush_vcpu = 0;
    std::uint32_t flush_entry = 0;
    std::uint64_t flush_seq = 0; // of the flush that waits; valid while `flushed`
    std::uint64_t bytes = 0;     // in flight, a bit each
    std::uint64_t flushed_bytes = 0;
    std::uint64_t nt_listed = 0; // vCPUs below 64 that have this slot on their list
    struct Write {
        std::uint64_t seq_and_vcpu;
        trace::SiteId site;
        trace::StackId stack;

        std::uint64_t seq() const { return seq_and_vcpu >> 16; }
        std::uint16_t vcpu() const { return static_cast<std::uint16_t>(seq_and_vcpu); }
        Origin origin() const { return {seq(), site, stack}; }
    };
    std::array<Write, kUnits> writes;
    std::array<std::uint64_t, kUnits> under; // valid for over_cached: seq of the cached store

    std::uint8_t in_flight() const { return cached | nt; }
};

// What a flush found in its line.
enum class FlushEffect : std::uint8_t {
    useful,
    repeated,      // flushed by the same vCPU before, and not written since
    clean,         // guaranteed, and not written since it was
    never_written, // by this trace
    after_nt,      // only non-temporal stores since the last flush
    outside,       // not in a PM region
};

struct FlushResult {
    FlushEffect effect = FlushEffect::useful;
    bool has_other = false;
    Origin other; // the earlier flush, or the non-temporal store
};

struct FenceResult {
    std::uint64_t flushes = 0;   // by this vCPU since its last fence
    std::uint64_t nt_stores = 0; // likewise
    std::uint32_t lines = 0;     // that got something guaranteed by this fence
    std::uint64_t first_line = 0;
};

class LineTable {
public:
    static constexpr std::uint32_t kNoSlot = 0;

    LineTable(std::span<const trace::Region> regions, model::ModelKind model);

    // Calls overwritten(line state, unit, bytes) before bytes in flight are written over.
    template <typename Overwritten>
    void store(std::uint64_t seq, const trace::Event &event, Overwritten &&overwritten);
    FlushResult flush(std::uint64_t seq, const trace::Event &event);
    // A fence that counts.
    // Calls settled(line state, units) for what it guarantees.
    template <typename Settled> FenceResult fence(std::uint16_t vcpu, Settled &&settled);
    // A locked instruction that does not count under the rule in force.
    void locked(std::uint64_t seq, std::uint16_t vcpu) { vcpu_of(vcpu).last_locked = seq; }

    // Whether a write in flight would be guaranteed if locked instructions counted as fences.
    bool relies_on_lock(const LineState &line, unsigned unit) const;
    const LineState *find(std::uint64_t line) const;
    LineState *find(std::uint64_t line)
    {
        return const_cast<LineState *>(static_cast<const LineTable *>(this)->find(line));
    }
    bool ever_flushed(std::uint64_t line) const;
    // The last flush of a line; seq + 1 in `seq`, 0 = none.
    const Origin *last_flush(std::uint64_t line) const;
    // Calls visit(line state) for every line in flight, in no order that means anything.
    template <typename Visit> void for_each(Visit &&visit)
    {
        for (LineState &line : slots_)
            if (line.in_use)
                visit(line);
    }
    std::uint64_t outside() const { return outside_; }
    std::size_t slots() const { return slots_.size(); }
    std::size_t pages() const { return pages_.size(); }

private:
    static constexpr unsigned kPageLines = 64;

    struct Page {
        std::uint64_t written = 0;
        std::uint64_t flushed = 0;
        std::uint64_t cached_since_flush =
            0; // bits: written by a cached store since the last flush
        std::uint64_t nt_since_flush = 0;
        std::uint32_t flush_block = 0; // index of last flushes; 0 = none
        std::array<std::uint32_t, kPageLines> slot = {};
    };
    struct RegionPages {
        std::uint64_t first_page = 0;
        std::vector<std::uint32_t> index; // of pages_; 0 = untouched
    };
    struct Flush {
        std::uint64_t line;
        std::uint64_t seq;
    };
    struct Vcpu {
        std::vector<Flush> flushes;
        std::vector<std::uint32_t> nt_slots;
        std::uint64_t flush_count = 0;
        std::uint64_t nt_count = 0;
        std::uint64_t last_locked = 0;
    };

    Vcpu &vcpu_of(std::uint16_t vcpu)
    {
        if (vcpu >= vcpus_.size()) [[unlikely]]
            vcpus_.resize(vcpu + 1u);
        return vcpus_[vcpu];
    }
    // No bit for the others: they list a slot again each time.
    static std::uint64_t listed_bit(std::uint16_t vcpu)
    {
        return vcpu < 64 ? std::uint64_t{1} << vcpu : 0;
    }
    Page *page_of(std::uint64_t page)
    {
        if (page == recent_page_) [[likely]]
            return &pages_[recent_index_];
        return open_page(page);
    }
    Page *open_page(std::uint64_t page);
    const Page *known_page(std::uint64_t page) const;
    std::uint32_t open_slot(std::uint64_t line);
    void close_slot(LineState &line);
    Origin &flush_record(Page &page, unsigned index);
    void settle_all_cached();
    void settle_units(LineState &line, std::uint8_t units);
    static std::uint8_t covered_by(const LineState &line, std::uint64_t flush_seq);
    static std::uint8_t settle_nt(const LineState &line, std::uint16_t vcpu);
    void prune(std::uint16_t number);
    void note_flush(std::uint64_t seq, std::uint16_t vcpu, LineState &line);

    static std::uint64_t bytes_from(unsigned offset, unsigned size)
    {
        return (size == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << size) - 1) << offset;
    }
    std::uint32_t slot_for_store(std::uint64_t line, bool nt, std::uint8_t units);
    void list_nt(std::uint16_t vcpu, std::uint32_t slot, std::uint64_t listed);
    template <typename Overwritten>
    void store_part(std::uint64_t seq, const trace::Event &event, std::uint64_t line,
                    std::uint64_t bytes, unsigned first, unsigned last, Overwritten &overwritten);

    bool eadr_;
    std::vector<RegionPages> regions_;
    std::vector<Page> pages_;
    std::vector<std::array<Origin, kPageLines>> flush_blocks_;
    std::uint64_t recent_page_ = UINT64_MAX;
    std::uint32_t recent_index_ = 0;
    // The line of the last store, while nothing but stores has come.
    std::uint64_t recent_line_ = UINT64_MAX;
    std::uint32_t recent_slot_ = 0;
    bool recent_nt_ = false;
    std::vector<LineState> slots_;
    std::vector<std::uint32_t> free_slots_;
    std::vector<Vcpu> vcpus_;
    std::uint64_t outside_ = 0;
};

template <typename Overwritten>
void LineTable::store(std::uint64_t seq, const trace::Event &event, Overwritten &&overwritten)
{
    if (event.kind == trace::EventKind::nt_store)
        ++vcpu_of(event.vcpu).nt_count;
    const unsigned offset = event.address % trace::kLineBytes;
    const std::uint64_t line = event.first_line();
    if (offset % trace::kUnitBytes + event.size <= trace::kUnitBytes) [[likely]] {
        const std::uint64_t bytes = ((std::uint64_t{1} << event.size % 64) - 1) << offset;
        const unsigned unit = offset / trace::kUnitBytes;
        store_part(seq, event, line, bytes, unit, unit, overwritten);
        return;
    }
    const unsigned head = std::min<unsigned>(event.size, trace::kLineBytes - offset);
    store_part(seq, event, line, bytes_from(offset, head), offset / trace::kUnitBytes,
               (offset + head - 1) / trace::kUnitBytes, overwritten);
    if (const unsigned rest = event.size - head)
        store_part(seq, event, line + 1, bytes_from(0, rest), 0, (rest - 1) / trace::kUnitBytes,
                   overwritten);
}

// The line's slot, made if it has none; kNoSlot: there is nothing to keep.
inline std::uint32_t LineTable::slot_for_store(std::uint64_t line, bool nt, std::uint8_t units)
{
    Page *page = page_of(line / kPageLines);
    if (!page) [[unlikely]] {
        ++outside_;
        return kNoSlot;
    }
    const unsigned index = line % kPageLines;
    const std::uint64_t line_bit = std::uint64_t{1} << index;
    page->written |= line_bit;
    (nt ? page->nt_since_flush : page->cached_since_flush) |= line_bit;
    std::uint32_t slot = page->slot[index];
    if (eadr_ && !nt) {
        // Guaranteed at once, with all that was written to its units before.
        if (slot != kNoSlot)
            settle_units(slots_[slot], units);
        return kNoSlot;
    }
    if (slot == kNoSlot)
        slot = page->slot[index] = open_slot(line);
    recent_line_ = line;
    recent_slot_ = slot;
    recent_nt_ = nt;
    return slot;
}

template <typename Overwritten>
inline void LineTable::store_part(std::uint64_t seq, const trace::Event &event, std::uint64_t line,
                                  std::uint64_t bytes, unsigned first, unsigned last,
                                  Overwritten &overwritten)
{
    const bool nt = event.kind == trace::EventKind::nt_store;
    const auto units = static_cast<std::uint8_t>((2u << last) - (1u << first));
    // Stores come in runs, and what the page knows of the line does not change within one.
    std::uint32_t slot = recent_slot_;
    if (line != recent_line_ || nt != recent_nt_) {
        slot = slot_for_store(line, nt, units);
        if (slot == kNoSlot)
            return;
    }
    LineState &state = slots_[slot];
    if (state.bytes & bytes)
        overwritten(static_cast<const LineState &>(state), first, bytes & state.bytes);
    const auto others = static_cast<std::uint8_t>(~units);
    if (nt) {
        if (const std::uint8_t over = units & state.cached) [[unlikely]] {
            for (unsigned unit = first; unit <= last; ++unit)
                if (over >> unit & 1)
                    state.under[unit] = state.writes[unit].seq();
            state.over_cached |= over;
            state.cached &= others;
        }
        state.nt |= units;
        if (const std::uint64_t listed = listed_bit(event.vcpu);
            !(state.nt_listed & listed) || listed == 0)
            list_nt(event.vcpu, slot, listed);
    } else {
        state.cached |= units;
        state.nt &= others;
        state.over_cached &= others;
    }
    state.flushed &= others;
    state.reported &= others;
    state.bytes |= bytes;
    state.flushed_bytes &= ~bytes;
    const LineState::Write write = {seq << 16 | event.vcpu, event.site, event.stack};
    for (unsigned unit = first; unit <= last; ++unit)
        state.writes[unit] = write;
}

template <typename Settled> FenceResult LineTable::fence(std::uint16_t number, Settled &&settled)
{
    FenceResult result;
    recent_line_ = UINT64_MAX;
    Vcpu &vcpu = vcpu_of(number);
    result.flushes = vcpu.flush_count;
    result.nt_stores = vcpu.nt_count;
    vcpu.flush_count = vcpu.nt_count = 0;
    const auto settle = [&](LineState &line, std::uint8_t units) {
        if (!units)
            return;
        if (result.lines++ == 0)
            result.first_line = line.line;
        settled(static_cast<const LineState &>(line), units);
        settle_units(line, units);
    };
    for (const Flush &flush : vcpu.flushes) {
        LineState *line = find(flush.line);
        if (!line)
            continue;
        if (line->flush_seq == flush.seq) {
            line->bytes &= ~line->flushed_bytes;
            line->flushed_bytes = 0;
            settle(*line, line->flushed);
        } else {
            settle(*line, covered_by(*line, flush.seq));
        }
    }
    vcpu.flushes.clear();
    for (const std::uint32_t slot : vcpu.nt_slots) {
        LineState &line = slots_[slot];
        const bool alone =
            line.nt_listed == listed_bit(number) && line.nt_listed != 0 && line.over_cached == 0;
        line.nt_listed &= ~listed_bit(number);
        if (line.in_use && line.nt)
            settle(line, alone ? line.nt : settle_nt(line, number));
    }
    vcpu.nt_slots.clear();
    return result;
}

} // namespace fencepost::rules
