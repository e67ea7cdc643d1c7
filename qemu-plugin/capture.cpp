// SPDX-License-Identifier: GPL-2.0-or-later
// The part of Tracer that runs whenever the guest stores or fences.
#include <algorithm>
#include <cstring>

#include "qemu-plugin/tracer.h"

namespace fencepost::tracer {

namespace {

constexpr std::uint64_t kPageMask = kPageBytes - 1;
constexpr std::uint64_t kWidestAccess = 16;                 // that QEMU makes in one piece
constexpr std::uint64_t kTableBase = 0x000f'ffff'ffff'f000; // of cr3

std::uint64_t masked(std::uint64_t value, unsigned size)
{
    return size == 8 ? value : value & ((std::uint64_t{1} << size * 8) - 1);
}

// As it is in memory.
qemu_plugin_mem_value stored_value(qemu_plugin_meminfo_t info, unsigned size, const CodePoint &code)
{
    qemu_plugin_mem_value value = qemu_plugin_mem_get_value(info);
    if (code.what.swaps_bytes) [[unlikely]]
        value.data.u64 = __builtin_bswap64(value.data.u64) >> (64 - size * 8);
    return value;
}

} // namespace

bool Tracer::is_pm(std::uint64_t physical) const
{
    for (const trace::Region &region : regions_)
        if (region.contains(physical))
            return true;
    return false;
}

std::uint64_t Tracer::frame_at(std::uint64_t physical) const
{
    return is_pm(physical) ? physical & ~kPageMask : TranslationCache::kVolatile;
}

std::uint64_t Tracer::frame_of(Vcpu &cpu, qemu_plugin_meminfo_t info, std::uint64_t address)
{
    const std::uint64_t frame = cpu.translations.find(address);
    if (frame != TranslationCache::kUnknown) [[likely]]
        return frame;
    return find_frame(cpu, info, address);
}

// Just after an access, so QEMU still has its translation.
std::uint64_t Tracer::find_frame(Vcpu &cpu, qemu_plugin_meminfo_t info, std::uint64_t address)
{
    const qemu_plugin_hwaddr *known = qemu_plugin_get_hwaddr(info, address);
    if (!known)
        return walk_to_frame(cpu, address);
    const std::uint64_t physical = qemu_plugin_hwaddr_phys_addr(known);
    physical_.learn(address, physical);
    const std::uint64_t frame = frame_at(physical);
    cpu.translations.insert(address, frame);
    // Just before the access that shows where the page is.
    if (!absent_.empty()) [[unlikely]]
        resolve_absent(cpu, address, frame);
    return frame;
}

void Tracer::learn_paging(Vcpu &cpu)
{
    if (cpu.paging.cr3 == 0)
        cpu.paging = guest_.paging();
}

std::uint64_t Tracer::walk_to_frame(Vcpu &cpu, std::uint64_t address)
{
    const std::optional<Translation> found = physical_.translate(cpu.paging, address);
    if (!found)
        return TranslationCache::kUnknown;
    if (!found->present)
        return TranslationCache::kAbsent;
    const std::uint64_t frame = frame_at(found->physical);
    // A page that cannot be written may become another one when it is, without a word to the TLB.
    if (found->writable)
        cpu.translations.insert(address, frame);
    return frame;
}

std::uint64_t Tracer::address_space_of(const Vcpu &cpu) const
{
    return cpu.paging.cr3 & kTableBase;
}

Process &Tracer::process_of(Vcpu &cpu)
{
    if (cpu.process)
        return *cpu.process;
    if (address_space_of(cpu) == 0) {
        ++quality_.unknown_processes;
        return processes_.in(0);
    }
    cpu.process = &processes_.in(address_space_of(cpu));
    return *cpu.process;
}

trace::Event Tracer::new_event(unsigned vcpu, CodePoint &code)
{
    trace::Event event = code.event;
    event.vcpu = static_cast<std::uint16_t>(vcpu);
    Vcpu &cpu = *vcpus_[vcpu];
    const Process &process = code.user ? process_of(cpu) : processes_.kernel();
    event.site = sites_.of(code, process);
    if (options_.stacks) {
        event.stack = stacks_.current(cpu.stacks, code, process);
        thread_ = stacks_.thread(cpu.stacks, code.user);
    }
    return event;
}

void Tracer::push(const trace::Event &event)
{
    queue_.current().events.push(event);
    pushed();
}

// Of all vCPUs, because they take turns. What an exception has cut off from the end of a block
// counts as executed.
std::uint64_t Tracer::time() const
{
    return *executed_inline_ + executed_ - left_in_block_;
}

void Tracer::pushed()
{
    Batch &batch = queue_.current();
    batch.moments.push_back({time(), thread_});
    if (batch.events.full()) [[unlikely]]
        queue_.hand_over();
}

void Tracer::store(unsigned vcpu, qemu_plugin_meminfo_t info, std::uint64_t address,
                   CodePoint &code)
{
    const std::uint64_t frame = frame_of(*vcpus_[vcpu], info, address);
    // The page after a volatile one may be PM.
    if (frame == TranslationCache::kVolatile && (address & kPageMask) <= kPageBytes - kWidestAccess)
        [[likely]]
        return;
    if (recording_ || workload_ended_)
        record_store(vcpu, info, address, frame, code);
}

void Tracer::record_store(unsigned vcpu, qemu_plugin_meminfo_t info, std::uint64_t address,
                          std::uint64_t frame, CodePoint &code)
{
    const std::uint64_t offset = address & kPageMask;
    const unsigned size = 1u << qemu_plugin_mem_size_shift(info);
    if (offset + size > kPageBytes) [[unlikely]] {
        record_split_store(vcpu, info, address, code);
        return;
    }
    if (frame >= TranslationCache::kUnknown) [[unlikely]] {
        quality_.untranslated_stores += frame != TranslationCache::kVolatile;
        return;
    }
    const qemu_plugin_mem_value value = stored_value(info, size, code);
    if (size > 8 || !recording_ || !absent_.empty()) [[unlikely]] {
        keep_store(vcpu, code, frame | offset, size, &value.data);
        return;
    }
    trace::Event event = new_event(vcpu, code);
    event.address = frame | offset;
    event.size = static_cast<std::uint8_t>(size);
    event.value = masked(value.data.u64, size);
    push(event);
}

void Tracer::keep_store(unsigned vcpu, CodePoint &code, std::uint64_t physical, unsigned size,
                        const void *bytes)
{
    if (!recording_) [[unlikely]] {
        late_.put(physical, bytes, size);
        return;
    }
    if (!absent_.empty()) [[unlikely]]
        absent_.store(physical, size);
    trace::Event event = new_event(vcpu, code);
    event.address = physical;
    event.size = static_cast<std::uint8_t>(size);
    trace::EventBuffer &events = queue_.current().events;
    events.push_store(event, bytes);
    pushed();
}

// Two pages are two places in physical memory, so it becomes two stores.
void Tracer::record_split_store(unsigned vcpu, qemu_plugin_meminfo_t info, std::uint64_t address,
                                CodePoint &code)
{
    const unsigned size = 1u << qemu_plugin_mem_size_shift(info);
    const qemu_plugin_mem_value value = stored_value(info, size, code);
    std::uint8_t bytes[16];
    std::memcpy(bytes, &value.data, sizeof bytes);
    const unsigned first = static_cast<unsigned>(kPageBytes - (address & kPageMask));
    for (const auto &[start, count] : {std::pair{0u, first}, {first, size - first}}) {
        const std::uint64_t frame = frame_of(*vcpus_[vcpu], info, address + start);
        if (frame == TranslationCache::kVolatile)
            continue;
        if (frame >= TranslationCache::kUnknown) {
            ++quality_.untranslated_stores;
            continue;
        }
        keep_store(vcpu, code, frame | ((address + start) & kPageMask), count, bytes + start);
    }
}

// Flushes that precede a locked instruction complete before it writes (SDM volume 2, CLWB and
// CLFLUSHOPT: ordered with respect to locked read-modify-writes), so its fence comes first.
void Tracer::locked_store(unsigned vcpu, qemu_plugin_meminfo_t info, std::uint64_t address,
                          CodePoint &code)
{
    if (recording_)
        record_fence(vcpu, code, *code.what.fence);
    store(vcpu, info, address, code);
}

void Tracer::load(unsigned vcpu, qemu_plugin_meminfo_t info, std::uint64_t address, CodePoint &code)
{
    if (!recording_)
        return;
    const unsigned size = 1u << qemu_plugin_mem_size_shift(info);
    for (std::uint64_t done = 0; done < size;) {
        const std::uint64_t part = address + done;
        const std::uint64_t count =
            std::min<std::uint64_t>(size - done, kPageBytes - (part & kPageMask));
        done += count;
        // Not the cache: it holds translations for stores, and a page for reading may be another.
        const qemu_plugin_hwaddr *known = qemu_plugin_get_hwaddr(info, part);
        const std::uint64_t physical = known ? qemu_plugin_hwaddr_phys_addr(known) : 0;
        if (!is_pm(physical))
            continue;
        trace::Event event = new_event(vcpu, code);
        event.kind = trace::EventKind::load;
        event.subkind = 0;
        event.flags = 0;
        event.address = physical;
        event.size = static_cast<std::uint8_t>(count);
        push(event);
    }
}

void Tracer::fence(unsigned vcpu, CodePoint &code)
{
    if (recording_)
        record_fence(vcpu, code, *code.what.fence);
}

void Tracer::record_fence(unsigned vcpu, CodePoint &code, trace::FenceKind kind)
{
    if (!absent_.empty() && (kind == trace::FenceKind::sfence || kind == trace::FenceKind::mfence))
        [[unlikely]] {
        look_for_absent(*vcpus_[vcpu]);
        absent_.fence(vcpu);
    }
    trace::Event event = new_event(vcpu, code);
    event.kind = trace::EventKind::fence;
    event.subkind = static_cast<std::uint8_t>(kind);
    event.flags = 0;
    push(event);
}

void Tracer::translation_change(unsigned vcpu, CodePoint &code)
{
    Vcpu &cpu = *vcpus_[vcpu];
    cpu.translations.forget();
    if (code.what.cr3_source == kNoRegister)
        return;
    cpu.paging = guest_.paging(); // for cr4, which changes while a kernel boots
    cpu.paging.cr3 = guest_.read(static_cast<Register>(code.what.cr3_source));
    cpu.process = nullptr;
}

void Tracer::undecodable(unsigned, CodePoint &)
{
    if (recording_)
        ++quality_.undecodable_instructions;
}

} // namespace fencepost::tracer
