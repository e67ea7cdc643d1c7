// SPDX-License-Identifier: GPL-2.0-or-later
// See line_table.h.
#include "analyzer/rules/line_table.h"

#include <algorithm>
#include <utility>

namespace fencepost::rules {

namespace {

constexpr std::array<std::uint64_t, 256> kBytesOfUnits = [] {
    std::array<std::uint64_t, 256> table = {};
    for (unsigned units = 0; units < table.size(); ++units)
        for (unsigned unit = 0; unit < kUnits; ++unit)
            if (units >> unit & 1)
                table[units] |= std::uint64_t{0xff} << unit * trace::kUnitBytes;
    return table;
}();

} // namespace

LineTable::LineTable(std::span<const trace::Region> regions, model::ModelKind model)
    : eadr_(model == model::ModelKind::eadr)
{
    constexpr std::uint64_t kPageBytes = kPageLines * trace::kLineBytes;
    for (const trace::Region &region : regions) {
        const std::uint64_t first = region.base / kPageBytes;
        const std::uint64_t end = (region.base + region.size + kPageBytes - 1) / kPageBytes;
        regions_.push_back({first, std::vector<std::uint32_t>(region.size == 0 ? 0 : end - first)});
    }
    pages_.resize(1);
    flush_blocks_.resize(1);
    slots_.resize(1);
}

LineTable::Page *LineTable::open_page(std::uint64_t page)
{
    for (RegionPages &region : regions_) {
        const std::uint64_t index = page - region.first_page;
        if (index >= region.index.size())
            continue;
        std::uint32_t &number = region.index[index];
        if (number == 0) {
            number = static_cast<std::uint32_t>(pages_.size());
            pages_.emplace_back();
        }
        recent_page_ = page;
        recent_index_ = number;
        return &pages_[number];
    }
    return nullptr;
}

const LineTable::Page *LineTable::known_page(std::uint64_t page) const
{
    if (page == recent_page_)
        return &pages_[recent_index_];
    for (const RegionPages &region : regions_) {
        const std::uint64_t index = page - region.first_page;
        if (index < region.index.size())
            return region.index[index] ? &pages_[region.index[index]] : nullptr;
    }
    return nullptr;
}

const LineState *LineTable::find(std::uint64_t line) const
{
    const Page *page = known_page(line / kPageLines);
    const std::uint32_t slot = page ? page->slot[line % kPageLines] : kNoSlot;
    return slot == kNoSlot ? nullptr : &slots_[slot];
}

bool LineTable::ever_flushed(std::uint64_t line) const
{
    const Page *page = known_page(line / kPageLines);
    return page && (page->flushed >> line % kPageLines & 1);
}

const Origin *LineTable::last_flush(std::uint64_t line) const
{
    const Page *page = known_page(line / kPageLines);
    if (!page || !(page->flushed >> line % kPageLines & 1) || page->flush_block == 0)
        return nullptr;
    return &flush_blocks_[page->flush_block][line % kPageLines];
}

Origin &LineTable::flush_record(Page &page, unsigned index)
{
    if (page.flush_block == 0) {
        page.flush_block = static_cast<std::uint32_t>(flush_blocks_.size());
        flush_blocks_.emplace_back();
    }
    return flush_blocks_[page.flush_block][index];
}

std::uint32_t LineTable::open_slot(std::uint64_t line)
{
    std::uint32_t slot = 0;
    if (free_slots_.empty()) {
        slot = static_cast<std::uint32_t>(slots_.size());
        slots_.emplace_back();
    } else {
        slot = free_slots_.back();
        free_slots_.pop_back();
    }
    LineState &state = slots_[slot];
    // The writes are looked at only where `cached` or `nt` has a bit.
    state.line = line;
    state.cached = state.flushed = state.nt = state.over_cached = state.reported = 0;
    state.in_use = true;
    state.flush_seq = 0;
    state.bytes = state.flushed_bytes = 0;
    // nt_listed stays: this slot may still be on a vCPU's list.
    return slot;
}

void LineTable::close_slot(LineState &line)
{
    line.in_use = false;
    const auto slot = static_cast<std::uint32_t>(&line - slots_.data());
    page_of(line.line / kPageLines)->slot[line.line % kPageLines] = kNoSlot;
    free_slots_.push_back(slot);
}

void LineTable::settle_units(LineState &line, std::uint8_t units)
{
    recent_line_ = UINT64_MAX;
    units &= line.in_flight();
    const auto keep = static_cast<std::uint8_t>(~units);
    line.cached &= keep;
    line.flushed &= keep;
    line.nt &= keep;
    line.over_cached &= keep;
    line.bytes &= ~kBytesOfUnits[units];
    line.flushed_bytes &= line.bytes;
    if (line.in_flight() == 0)
        close_slot(line);
}

// A flush that was followed by another one of the line, before its fence came.
std::uint8_t LineTable::covered_by(const LineState &line, std::uint64_t flush_seq)
{
    std::uint8_t units = 0;
    for (unsigned unit = 0; unit < kUnits; ++unit)
        if (line.cached >> unit & 1 && line.writes[unit].seq() < flush_seq)
            units |= static_cast<std::uint8_t>(1u << unit);
    return units;
}

// The units that a fence of `vcpu` guarantees because of their non-temporal stores. One over a
// cached store brings that store with it, and so all cached ones before it.
std::uint8_t LineTable::settle_nt(const LineState &line, std::uint16_t vcpu)
{
    std::uint8_t units = 0;
    // Pieces of one store persist in the order of their units.
    using Piece = std::pair<std::uint64_t, unsigned>;
    Piece cached_before = {0, 0};
    for (unsigned unit = 0; unit < kUnits; ++unit) {
        if (!(line.nt >> unit & 1) || line.writes[unit].vcpu() != vcpu)
            continue;
        units |= static_cast<std::uint8_t>(1u << unit);
        if (line.over_cached >> unit & 1)
            cached_before = std::max(cached_before, Piece(line.under[unit], unit));
    }
    for (unsigned unit = 0; unit < kUnits; ++unit)
        if (line.cached >> unit & 1 && Piece(line.writes[unit].seq(), unit) < cached_before)
            units |= static_cast<std::uint8_t>(1u << unit);
    return units;
}

void LineTable::list_nt(std::uint16_t number, std::uint32_t slot, std::uint64_t listed)
{
    slots_[slot].nt_listed |= listed;
    Vcpu &vcpu = vcpu_of(number);
    vcpu.nt_slots.push_back(slot);
    if (vcpu.nt_slots.size() > 4096 && vcpu.nt_slots.size() > 4 * slots_.size())
        prune(number);
}

void LineTable::settle_all_cached()
{
    for (LineState &line : slots_)
        if (line.in_use && line.cached)
            settle_units(line, line.cached);
}

void LineTable::note_flush(std::uint64_t seq, std::uint16_t number, LineState &line)
{
    Vcpu &vcpu = vcpu_of(number);
    const bool again = line.flush_seq != 0 && line.flush_vcpu == number &&
                       line.flush_entry < vcpu.flushes.size() &&
                       vcpu.flushes[line.flush_entry].line == line.line;
    line.flush_seq = seq;
    line.flushed = line.cached;
    line.flushed_bytes = line.bytes & kBytesOfUnits[line.cached];
    if (again) {
        vcpu.flushes[line.flush_entry].seq = seq;
        return;
    }
    line.flush_vcpu = number;
    line.flush_entry = static_cast<std::uint32_t>(vcpu.flushes.size());
    vcpu.flushes.push_back({line.line, seq});
    if (vcpu.flushes.size() > 4096 && vcpu.flushes.size() > 4 * slots_.size())
        prune(number);
}

FlushResult LineTable::flush(std::uint64_t seq, const trace::Event &event)
{
    recent_line_ = UINT64_MAX;
    ++vcpu_of(event.vcpu).flush_count;
    if (!event.has_address()) {
        settle_all_cached();
        return {};
    }
    const std::uint64_t number = event.first_line();
    const unsigned index = number % kPageLines;
    const std::uint64_t bit = std::uint64_t{1} << index;
    Page *page = page_of(number / kPageLines);
    if (!page) {
        ++outside_;
        return {.effect = FlushEffect::outside};
    }
    FlushResult result;
    const bool flushed_before = page->flushed & bit;
    Origin &record = flush_record(*page, index);
    LineState *line = page->slot[index] == kNoSlot ? nullptr : &slots_[page->slot[index]];
    const auto unflushed = static_cast<std::uint8_t>(line ? line->cached & ~line->flushed : 0);
    if (unflushed) {
        result.effect = FlushEffect::useful;
    } else if (line && line->cached) {
        // Another vCPU's flush waits for that vCPU's fence: this one may be the one that counts.
        result.effect =
            line->flush_vcpu == event.vcpu ? FlushEffect::repeated : FlushEffect::useful;
    } else if (!(page->written & bit)) {
        result.effect = FlushEffect::never_written;
    } else if ((page->nt_since_flush & bit) && !(page->cached_since_flush & bit)) {
        result.effect = FlushEffect::after_nt;
        if (line) {
            unsigned unit = 0;
            while (!(line->nt >> unit & 1))
                ++unit;
            result.has_other = true;
            result.other = line->writes[unit].origin();
        }
    } else {
        result.effect = FlushEffect::clean;
    }
    if (flushed_before &&
        (result.effect == FlushEffect::repeated || result.effect == FlushEffect::clean ||
         result.effect == FlushEffect::never_written)) {
        result.has_other = true;
        result.other = record;
    }
    record = {seq, event.site, event.stack};
    page->flushed |= bit;
    page->cached_since_flush &= ~bit;
    page->nt_since_flush &= ~bit;
    if (line && line->cached) {
        if (event.flush_kind() == trace::FlushKind::clflush)
            settle_units(*line, line->cached);
        else if (result.effect == FlushEffect::useful)
            note_flush(seq, event.vcpu, *line);
    }
    return result;
}

bool LineTable::relies_on_lock(const LineState &line, unsigned unit) const
{
    const LineState::Write &write = line.writes[unit];
    if (line.nt >> unit & 1)
        return write.vcpu() < vcpus_.size() && vcpus_[write.vcpu()].last_locked > write.seq();
    return (line.flushed >> unit & 1) && line.flush_vcpu < vcpus_.size() &&
           vcpus_[line.flush_vcpu].last_locked > line.flush_seq;
}

// Without fences, entries that mean nothing any more would pile up.
void LineTable::prune(std::uint16_t number)
{
    Vcpu &vcpu = vcpu_of(number);
    std::erase_if(vcpu.flushes, [this](const Flush &flush) {
        const LineState *line = find(flush.line);
        return !line || !line->cached;
    });
    std::sort(vcpu.flushes.begin(), vcpu.flushes.end(), [](const Flush &a, const Flush &b) {
        return a.line != b.line ? a.line < b.line : a.seq > b.seq;
    });
    vcpu.flushes.erase(std::unique(vcpu.flushes.begin(), vcpu.flushes.end(),
                                   [](const Flush &a, const Flush &b) { return a.line == b.line; }),
                       vcpu.flushes.end());
    std::sort(vcpu.nt_slots.begin(), vcpu.nt_slots.end());
    vcpu.nt_slots.erase(std::unique(vcpu.nt_slots.begin(), vcpu.nt_slots.end()),
                        vcpu.nt_slots.end());
    std::erase_if(vcpu.nt_slots, [this, number](std::uint32_t slot) {
        if (!slots_[slot].in_use)
            slots_[slot].nt_listed &= ~listed_bit(number);
        return !slots_[slot].in_use;
    });
}

} // namespace fencepost::rules
