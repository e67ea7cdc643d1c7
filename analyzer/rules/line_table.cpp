// SPDX-License-Identifier: GPL-2.0-or-later
// See line_table.h.
#include "analyzer/rules/line_table.h"

#include <bit>

namespace fencepost::rules {

LineTable::LineTable(std::span<const trace::Region> regions, model::ModelKind model,
                     model::FenceRule fences, std::vector<bool> user_sites)
    : in_flight_(model, fences), user_sites_(std::move(user_sites))
{
    constexpr std::uint64_t kPageBytes = kPageLines * trace::kLineBytes;
    for (const trace::Region &region : regions) {
        const std::uint64_t first = region.base / kPageBytes;
        const std::uint64_t end = (region.base + region.size + kPageBytes - 1) / kPageBytes;
        regions_.push_back({first, std::vector<std::uint32_t>(region.size == 0 ? 0 : end - first)});
    }
    pages_.resize(1);
    flush_blocks_.resize(1);
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

const WrittenLine *LineTable::find(std::uint64_t line) const
{
    const Page *page = known_page(line / kPageLines);
    return page ? in_flight_.find(line, page->number[line % kPageLines]) : nullptr;
}

bool LineTable::flushed_for(std::uint64_t line, trace::SiteId store) const
{
    const Page *page = known_page(line / kPageLines);
    if (!page)
        return false;
    const bool user = is_user(store);
    const std::uint64_t lines = flushes_anything_[user] ? page->flushed : page->flushed_for[user];
    return lines >> line % kPageLines & 1;
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

// Makes the line the recent one; false: there is nothing to keep of the store.
bool LineTable::open_line(const trace::Event &store, std::uint64_t line, std::uint8_t units)
{
    const bool nt = store.kind == trace::EventKind::nt_store;
    if (nt)
        vcpu_of(store.vcpu).nt_stored = true;
    Page *page = page_of(line / kPageLines);
    if (!page) [[unlikely]] {
        ++outside_;
        return false;
    }
    const unsigned index = line % kPageLines;
    const std::uint64_t bit = std::uint64_t{1} << index;
    page->written |= bit;
    (nt ? page->nt_since_flush : page->cached_since_flush) |= bit;
    std::uint32_t &number = page->number[index];
    if (in_flight_.at_once(store)) {
        in_flight_.pass(line, units, number);
        recent_line_ = UINT64_MAX;
        return false;
    }
    number = in_flight_.open(line, number);
    recent_line_ = line;
    recent_number_ = number;
    recent_vcpu_ = store.vcpu;
    recent_kind_ = store.kind;
    return true;
}

// `line` is null where nothing of it is in flight.
FlushResult LineTable::effect_of(const trace::Event &event, const Page &page,
                                 const WrittenLine *line) const
{
    const unsigned index = event.first_line() % kPageLines;
    const auto has = [index](std::uint64_t lines) { return (lines >> index & 1) != 0; };
    if (line && line->cached) {
        // Another vCPU's flush waits for that vCPU's fence: this one may be the one that counts.
        const bool repeated = line->cached == line->flushed && line->last_flush.vcpu == event.vcpu;
        return {.effect = repeated ? FlushEffect::repeated : FlushEffect::useful};
    }
    if (!has(page.written))
        return {.effect = FlushEffect::never_written};
    if (!has(page.nt_since_flush) || has(page.cached_since_flush))
        return {.effect = FlushEffect::clean};
    FlushResult result = {.effect = FlushEffect::after_nt, .has_other = line != nullptr};
    if (line)
        result.other = line->writes[static_cast<unsigned>(std::countr_zero(line->nt))].event();
    return result;
}

// `line` is null where nothing of it is in flight.
void LineTable::note_whom_it_is_for(const trace::Event &flush, Page &page, const WrittenLine *line)
{
    const std::uint64_t bit = std::uint64_t{1} << flush.first_line() % kPageLines;
    const auto note = [&](trace::SiteId site) {
        page.flushed_for[is_user(site)] |= bit;
        flushes_anything_[is_user(site)] = true;
    };
    note(flush.site);
    const unsigned covered = line ? line->cached & ~line->flushed : 0u;
    for (unsigned units = covered; units != 0; units &= units - 1) {
        const auto unit = static_cast<unsigned>(std::countr_zero(units));
        note(line->writes[unit].event().site);
    }
}

FlushResult LineTable::flush(std::uint64_t seq, const trace::Event &event)
{
    recent_line_ = UINT64_MAX;
    vcpu_of(event.vcpu).flushed = true;
    if (!event.has_address()) {
        in_flight_.flush(seq, event, 0);
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
    const WrittenLine *line = in_flight_.find(number, page->number[index]);
    note_whom_it_is_for(event, *page, line);
    FlushResult result = effect_of(event, *page, line);
    Origin &record = flush_record(*page, index);
    if ((page->flushed & bit) &&
        (result.effect == FlushEffect::repeated || result.effect == FlushEffect::clean ||
         result.effect == FlushEffect::never_written)) {
        result.has_other = true;
        result.other = record;
    }
    record = {seq, event.site, event.stack};
    page->flushed |= bit;
    page->cached_since_flush &= ~bit;
    page->nt_since_flush &= ~bit;
    in_flight_.flush(seq, event, page->number[index]);
    return result;
}

} // namespace fencepost::rules
