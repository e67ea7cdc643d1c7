// SPDX-License-Identifier: GPL-2.0-or-later
// See absent_flushes.h.
#include "qemu-plugin/absent_flushes.h"

#include "qemu-plugin/translation_cache.h"

namespace fencepost::tracer {

namespace {

constexpr std::size_t kMostWaiting = 1 << 20;     // then the rest is counted only
constexpr std::size_t kMostStoredLines = 1 << 20; // then nothing is known about those that wait

} // namespace

std::size_t AbsentFlushes::PageHash::operator()(const Page &page) const
{
    return (page.number ^ page.address_space >> 12) * 0x9e3779b97f4a7c15u;
}

AbsentFlushes::Page AbsentFlushes::page_of(std::uint64_t address_space, std::uint64_t address)
{
    return {address_space, address / kPageBytes};
}

void AbsentFlushes::remember(std::uint64_t address_space, std::uint64_t address,
                             const trace::Event &event)
{
    if (waiting_ >= kMostWaiting) {
        ++counts_.unresolved;
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
    if (stored_.size() > kMostStoredLines) {
        counts_.overtaken += waiting_;
        waiting_ = 0;
        pages_.clear();
        stored_.clear();
    }
}

void AbsentFlushes::fence(unsigned vcpu)
{
    fenced_[vcpu] = ++time_;
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
            counts_.overtaken += waiting.flushes;
            continue;
        }
        const auto fenced = fenced_.find(event.vcpu);
        if (fenced != fenced_.end() && fenced->second > waiting.time)
            event.subkind = static_cast<std::uint8_t>(trace::FlushKind::clflush);
        counts_.resolved += waiting.flushes;
        events.push_back(event);
    }
    drop(found->second);
    pages_.erase(found);
    return events;
}

void AbsentFlushes::appear_volatile(std::uint64_t address_space, std::uint64_t address)
{
    const auto found = pages_.find(page_of(address_space, address));
    if (found == pages_.end())
        return;
    counts_.unresolved += drop(found->second);
    pages_.erase(found);
}

void AbsentFlushes::forget(std::uint64_t address_space)
{
    for (auto page = pages_.begin(); page != pages_.end();) {
        if (page->first.address_space != address_space) {
            ++page;
            continue;
        }
        counts_.unresolved += drop(page->second);
        page = pages_.erase(page);
    }
}

std::size_t AbsentFlushes::drop(const std::vector<Waiting> &page)
{
    std::size_t flushes = 0;
    for (const Waiting &waiting : page)
        flushes += waiting.flushes;
    waiting_ -= flushes;
    if (waiting_ == 0)
        stored_.clear();
    return flushes;
}

AbsentFlushCounts AbsentFlushes::counts() const
{
    AbsentFlushCounts counts = counts_;
    counts.unresolved += waiting_;
    return counts;
}

} // namespace fencepost::tracer
