// SPDX-License-Identifier: GPL-2.0-or-later
// What the rules know of each line of PM: what of it is in flight, and its history.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "analyzer/model/last_writes.h"
#include "trace/event.h"
#include "trace/records.h"

namespace fencepost::rules {

using model::WrittenLine;
using Origin = trace::EventRef;

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
    Origin other = {}; // the earlier flush, or the non-temporal store
};

struct FenceResult {
    bool after_flush = false;    // by this vCPU, since its last fence
    bool after_nt_store = false; // likewise
    std::uint32_t lines = 0;     // that got something guaranteed by this fence
    std::uint64_t first_line = 0;
};

// The persistence model says what is in flight; this table adds what has happened to a line before,
// and finds lines through an array of PM's pages.
class LineTable {
public:
    // `user_sites`: by site, whether it is code of a program; all others are the kernel's.
    LineTable(std::span<const trace::Region> regions, model::ModelKind model,
              model::FenceRule fences, std::vector<bool> user_sites = {});

    // Calls overwritten(line, bytes) before bytes in flight are written over.
    template <typename Overwritten>
    void store(std::uint64_t seq, const trace::Event &event, Overwritten &&overwritten);
    FlushResult flush(std::uint64_t seq, const trace::Event &event);
    // Calls settled(line, units) for what it guarantees, before that leaves flight. Returns whether
    // it is a fence that counts; only then is there a result.
    template <typename Settled>
    bool fence(std::uint64_t seq, const trace::Event &event, FenceResult &result,
               Settled &&settled);

    // Null: nothing of the line is in flight.
    const WrittenLine *find(std::uint64_t line) const;
    // Whether a write in flight would be guaranteed if locked instructions counted as fences.
    bool relies_on_lock(const WrittenLine &line, unsigned unit) const
    {
        return in_flight_.relies_on_lock(line, unit);
    }
    // A finding has been made of these units: their bits in `marked`.
    void mark_reported(const WrittenLine &line, std::uint8_t units)
    {
        in_flight_.mark(line, units);
    }
    // Calls visit(line) for every line in flight, in no order that means anything.
    template <typename Visit> void for_each(Visit &&visit) const { in_flight_.for_each(visit); }

    bool is_user(trace::SiteId site) const
    {
        return site < user_sites_.size() && user_sites_[site];
    }
    // Whether the line was flushed by code with the privilege of `store`, or for such code; or by
    // others, if such code has things flushed elsewhere. Zeros that the kernel made durable in a
    // file do not say that what a program maps there is to last, if it never flushes anything.
    bool flushed_for(std::uint64_t line, trace::SiteId store) const;
    // The last flush of a line; null: none.
    const Origin *last_flush(std::uint64_t line) const;
    std::uint64_t outside() const { return outside_; }
    std::size_t lines() const { return in_flight_.line_count(); }
    std::size_t pages() const { return pages_.size(); }

private:
    static constexpr unsigned kPageLines = 64;

    // Bits and arrays by line.
    struct Page {
        std::uint64_t written = 0;
        std::uint64_t flushed = 0;
        std::array<std::uint64_t, 2> flushed_for = {}; // the kernel, programs
        std::uint64_t cached_since_flush = 0; // written by a cached store since the last flush
        std::uint64_t nt_since_flush = 0;
        std::uint32_t flush_block = 0;                     // index of last flushes; 0 = none
        std::array<std::uint32_t, kPageLines> number = {}; // in in_flight_
    };
    struct RegionPages {
        std::uint64_t first_page = 0;
        std::vector<std::uint32_t> index; // of pages_; 0 = untouched
    };
    // Since its last fence.
    struct Vcpu {
        bool flushed = false;
        bool nt_stored = false;
    };

    Vcpu &vcpu_of(std::uint16_t vcpu)
    {
        if (vcpu >= vcpus_.size()) [[unlikely]]
            vcpus_.resize(vcpu + 1u);
        return vcpus_[vcpu];
    }
    Page *page_of(std::uint64_t page)
    {
        if (page == recent_page_) [[likely]]
            return &pages_[recent_index_];
        return open_page(page);
    }
    Page *open_page(std::uint64_t page);
    const Page *known_page(std::uint64_t page) const;
    void note_whom_it_is_for(const trace::Event &flush, Page &page, const WrittenLine *line);
    Origin &flush_record(Page &page, unsigned index);
    FlushResult effect_of(const trace::Event &event, const Page &page,
                          const WrittenLine *line) const;
    bool open_line(const trace::Event &store, std::uint64_t line, std::uint8_t units);
    template <typename Overwritten>
    void store_part(std::uint64_t seq, const trace::Event &event, const model::LinePart &part,
                    Overwritten &overwritten);
    // Not inlined: the loop over events is for the others.
    template <typename Overwritten>
    [[gnu::noinline]] void store_parts(std::uint64_t seq, const trace::Event &event,
                                       Overwritten &overwritten);

    model::LastWrites in_flight_;
    std::vector<bool> user_sites_;
    std::array<bool, 2> flushes_anything_ = {}; // the kernel, programs
    std::vector<RegionPages> regions_;
    std::vector<Page> pages_;
    std::vector<std::array<Origin, kPageLines>> flush_blocks_;
    std::uint64_t recent_page_ = UINT64_MAX;
    std::uint32_t recent_index_ = 0;
    // The last store, while nothing but stores has come.
    std::uint64_t recent_line_ = UINT64_MAX;
    std::uint32_t recent_number_ = 0;
    std::uint16_t recent_vcpu_ = 0;
    trace::EventKind recent_kind_ = trace::EventKind::store;
    std::vector<Vcpu> vcpus_;
    std::uint64_t outside_ = 0;
};

template <typename Overwritten>
inline void LineTable::store_part(std::uint64_t seq, const trace::Event &event,
                                  const model::LinePart &part, Overwritten &overwritten)
{
    // Stores come in runs, and what is known of line and vCPU does not change within one.
    const bool recent =
        part.line == recent_line_ && event.kind == recent_kind_ && event.vcpu == recent_vcpu_;
    if (recent || open_line(event, part.line, part.units))
        in_flight_.write(seq, event, part, recent_number_, overwritten);
}

template <typename Overwritten>
inline void LineTable::store(std::uint64_t seq, const trace::Event &event,
                             Overwritten &&overwritten)
{
    if (model::is_in_one_unit(event)) [[likely]]
        store_part(seq, event, model::part_in_unit(event), overwritten);
    else
        store_parts(seq, event, overwritten);
}

template <typename Overwritten>
void LineTable::store_parts(std::uint64_t seq, const trace::Event &event, Overwritten &overwritten)
{
    model::cut_lines(
        event, [&](const model::LinePart &part) { store_part(seq, event, part, overwritten); });
}

template <typename Settled>
bool LineTable::fence(std::uint64_t seq, const trace::Event &event, FenceResult &result,
                      Settled &&settled)
{
    recent_line_ = UINT64_MAX;
    const auto settle = [&](const WrittenLine &line, std::uint8_t units) {
        if (result.lines++ == 0)
            result.first_line = line.line;
        settled(line, units);
    };
    if (!in_flight_.fence(seq, event, settle))
        return false;
    Vcpu &vcpu = vcpu_of(event.vcpu);
    result.after_flush = vcpu.flushed;
    result.after_nt_store = vcpu.nt_stored;
    vcpu = {};
    return true;
}

} // namespace fencepost::rules
