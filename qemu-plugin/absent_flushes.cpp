// SPDX-License-Identifier: GPL-2.0-or-later
// See absent_flushes.h.
#include "qemu-plugin/absent_flushes.h"

#include "qemu-plugin/translation_cache.h"

namespace fencepost::tracer {

namespace {

constexpr std::size_t kMostWaiting = 1 << 20;     // then the rest is counted only
constexpr std::size_t kMostStoredLines = 1 << 20; // then nothing is known about those that wait

void add(AbsentFlushes::SiteFlushes &site, const trace::Event &event, std::uint64_t flushes)
{
    site.last = event;
    site.flushes += flushes;
}

} // namespace

AbsentFlushes::Page AbsentFlushes::page_of(std::uint64_t address_space, std::uint64_t address)
{
    return {address_space, address / kPageBytes};
}

void AbsentFlushes::remember(std::uint64_t address_space, std::uint64_t address,
                             const trace::Event &event)
{
    if (waiting_ >= kMostWaiting) {
        lose(event, 1);
        return;
    }
    std::vector<Waiting> &page = pages_[page_of(address_space, address)];
    const std::uint64_t offset = address % kPageBytes;
    ++waiting_;
    // A later flush of the line covers what the earlier one did.
    for (Waiting &earlier : page)
        if (earlier.offset / trace::kLineBytes == offset / trace::kLineBytes &&
            earlier.event.vcpu == event.vcpu) {
            earlier = {offset, ++time_, earlier.flushes + 1, event};
            return;
        }
    page.push_back({offset, ++time_, 1, event});
}

void AbsentFlushes::store(std::uint64_t physical, unsigned size)
{
    ++time_;
    stored_[physical / trace::kLineBytes] = time_;
    stored_[(physical + size - 1) / trace::kLineBytes] = time_;
    if (stored_.size() > kMostStoredLines)
        for (auto page = pages_.begin(); page != pages_.end();)
            page = lose_page(page);
}

void AbsentFlushes::fence(unsigned vcpu)
{
    fenced_[vcpu] = ++time_;
}

std::vector<std::uint64_t> AbsentFlushes::waiting(std::uint64_t address_space,
                                                  const AddressRange &range,
                                                  std::size_t limit) const
{
    std::vector<std::uint64_t> addresses;
    for (auto page = pages_.lower_bound(page_of(address_space, range.start));
         page != pages_.end() && page->first.address_space == address_space &&
         page->first.number * kPageBytes < range.end() && addresses.size() < limit;
         ++page)
        addresses.push_back(page->first.number * kPageBytes);
    return addresses;
}

std::vector<std::uint64_t> AbsentFlushes::some_waiting(std::uint64_t address_space,
                                                       std::size_t limit)
{
    std::uint64_t from = next_.address_space == address_space ? next_.number * kPageBytes : 0;
    std::vector<std::uint64_t> addresses = waiting(address_space, {from, UINT64_MAX}, limit);
    if (addresses.empty() && from != 0)
        addresses = waiting(address_space, kAllAddresses, limit);
    if (!addresses.empty())
        next_ = page_of(address_space, addresses.back() + kPageBytes);
    return addresses;
}

std::vector<trace::Event> AbsentFlushes::appear(std::uint64_t address_space, std::uint64_t address,
                                                std::uint64_t frame)
{
    std::vector<trace::Event> events;
    const auto found = pages_.find(page_of(address_space, address));
    if (found == pages_.end())
        return events;
    for (const Waiting &waiting : found->second) {
        trace::Event event = waiting.event;
        event.address = frame | waiting.offset;
        const auto stored = stored_.find(event.first_line());
        if (stored != stored_.end() && stored->second > waiting.time) {
            lose(waiting.event, waiting.flushes);
            continue;
        }
        const auto fenced = fenced_.find(event.vcpu);
        if (fenced != fenced_.end() && fenced->second > waiting.time)
            event.subkind = static_cast<std::uint8_t>(trace::FlushKind::clflush);
        counts_.found += waiting.flushes;
        events.push_back(event);
    }
    remove(found);
    return events;
}

std::vector<AbsentFlushes::SiteFlushes> AbsentFlushes::appear_volatile(std::uint64_t address_space,
                                                                       std::uint64_t address)
{
    std::vector<SiteFlushes> flushes;
    const auto found = pages_.find(page_of(address_space, address));
    if (found == pages_.end())
        return flushes;
    for (const Waiting &waiting : found->second) {
        flushes.push_back({waiting.event, waiting.flushes});
        counts_.in_volatile_memory += waiting.flushes;
    }
    remove(found);
    return flushes;
}

void AbsentFlushes::forget(std::uint64_t address_space, const AddressRange &range)
{
    for (const std::uint64_t address : waiting(address_space, range))
        lose_page(pages_.find(page_of(address_space, address)));
}

void AbsentFlushes::lose(const trace::Event &event, std::uint64_t flushes)
{
    counts_.lost += flushes;
    add(lost_[event.site], event, flushes);
}

AbsentFlushes::Pages::iterator AbsentFlushes::lose_page(Pages::iterator page)
{
    for (const Waiting &waiting : page->second)
        lose(waiting.event, waiting.flushes);
    return remove(page);
}

AbsentFlushes::Pages::iterator AbsentFlushes::remove(Pages::iterator page)
{
    for (const Waiting &waiting : page->second)
        waiting_ -= waiting.flushes;
    if (waiting_ == 0)
        stored_.clear();
    return pages_.erase(page);
}

AbsentFlushCounts AbsentFlushes::counts() const
{
    AbsentFlushCounts counts = counts_;
    counts.lost += waiting_;
    return counts;
}

std::map<trace::SiteId, AbsentFlushes::SiteFlushes> AbsentFlushes::lost() const
{
    std::map<trace::SiteId, SiteFlushes> lost = lost_;
    for (const auto &[page, flushes] : pages_)
        for (const Waiting &waiting : flushes)
            add(lost[waiting.event.site], waiting.event, waiting.flushes);
    return lost;
}

} // namespace fencepost::tracer
