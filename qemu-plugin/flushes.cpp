// SPDX-License-Identifier: GPL-2.0-or-later
// The part of Tracer that runs whenever the guest flushes, and finds out which line of PM that was.
#include "qemu-plugin/tracer.h"

namespace fencepost::tracer {

namespace {

constexpr std::uint64_t kPageMask = kPageBytes - 1;
constexpr std::uint64_t kLargePage = 2 << 20;
// Pages that are looked for at one event, where nothing says that they have appeared.
constexpr std::size_t kLooks = 4;
constexpr std::size_t kLooksAtFault = 16;

} // namespace

void Tracer::flush(unsigned vcpu, CodePoint &code)
{
    if (!recording_)
        return;
    Vcpu &cpu = *vcpus_[vcpu];
    learn_paging(cpu);
    trace::Event event = new_event(vcpu, code);
    if (!event.has_address()) {
        push(event);
        return;
    }
    const std::optional<std::uint64_t> operand =
        guest_.address_of(code.what.operand, code.next_pc());
    if (!operand) {
        ++quality_.untranslated_flushes;
        return;
    }
    const std::uint64_t address = *operand;
    std::uint64_t frame = cpu.translations.find(address);
    if (frame == TranslationCache::kUnknown) {
        frame = walk_to_frame(cpu, address);
        if (!absent_.empty())
            resolve_absent(cpu, address, frame);
    }
    if (frame == TranslationCache::kAbsent) [[unlikely]] {
        frame = frame_elsewhere(cpu, address);
        if (frame == TranslationCache::kAbsent) {
            absent_.remember(address_space_of(cpu), address, event);
            return;
        }
        absent_.found_elsewhere();
    }
    if (frame == TranslationCache::kUnknown) {
        ++quality_.untranslated_flushes;
    } else if (frame == TranslationCache::kVolatile) {
        sites_.count_volatile_flush(event.site);
    } else {
        event.address = frame | (address & kPageMask);
        push(event);
    }
}

// Nobody has touched the page through this mapping: a child does not get its parent's entries for
// what both share. The same page of the same file may be there through another mapping, of this
// process or of one that it has the file in common with.
std::uint64_t Tracer::frame_elsewhere(Vcpu &cpu, std::uint64_t address)
{
    if (!system_calls_.on())
        return TranslationCache::kAbsent;
    const Process &process = process_of(cpu);
    const std::optional<FilePage> page = process.files.shared().at(address);
    if (!page)
        return TranslationCache::kAbsent;
    for (const Process *other : processes_.living())
        for (const std::uint64_t there : other->files.shared().addresses_of(*page)) {
            const std::optional<Translation> found =
                other == &process ? physical_.translate(cpu.paging, there)
                                  : physical_.translate_by(other->address_space, cpu.paging, there);
            if (found && found->present)
                return frame_at(found->physical);
        }
    return TranslationCache::kAbsent;
}

// `frame`: where the page of `address` is, if that has been found out.
void Tracer::resolve_absent(const Vcpu &cpu, std::uint64_t address, std::uint64_t frame)
{
    if (frame == TranslationCache::kUnknown || frame == TranslationCache::kAbsent)
        return;
    if (frame == TranslationCache::kVolatile) {
        for (const AbsentFlushes::SiteFlushes &site :
             absent_.appear_volatile(address_space_of(cpu), address))
            sites_.count_volatile_flush(site.last.site, site.flushes);
        return;
    }
    const std::vector<trace::Event> flushes = absent_.appear(address_space_of(cpu), address, frame);
    if (recording_)
        for (const trace::Event &flush : flushes)
            push(flush);
}

void Tracer::look_for(Vcpu &cpu, const std::vector<std::uint64_t> &pages)
{
    for (const std::uint64_t page : pages)
        resolve_absent(cpu, page, walk_to_frame(cpu, page));
}

void Tracer::look_for_absent(Vcpu &cpu)
{
    look_for(cpu, absent_.some_waiting(address_space_of(cpu), kLooks));
}

// The kernel is done: what a page fault has brought is where the fault was, maybe as one of many in
// a large page.
void Tracer::look_for_faulted(Vcpu &cpu)
{
    const std::uint64_t fault = guest_.read(kCr2);
    look_for(cpu, absent_.waiting(address_space_of(cpu), {fault & ~(kLargePage - 1), kLargePage},
                                  kLooksAtFault));
    look_for_absent(cpu);
}

// The last moment to find pages whose addresses are given another meaning by a system call.
void Tracer::leave_absent(Vcpu &cpu, const SystemCallEntry &entry)
{
    look_for_absent(cpu);
    const auto leave = [&](const AddressRange &range) {
        look_for(cpu, absent_.waiting(entry.address_space, range));
        absent_.forget(entry.address_space, range);
    };
    for (const AddressRange &range : remapped_by(entry.number, entry.arguments))
        if (range.length != 0)
            leave(range);
    if (system_calls_.ends_mappings(entry))
        leave(kAllAddresses);
}

} // namespace fencepost::tracer
