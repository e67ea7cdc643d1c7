// SPDX-License-Identifier: GPL-2.0-or-later
// The part of Tracer that follows what the guest does beyond its stores: markers, system calls,
// calls.
#include <algorithm>

#include <sys/syscall.h>

#include "qemu-plugin/marker_payload.h"
#include "qemu-plugin/tracer.h"

namespace fencepost::tracer {

void Tracer::push_marker(unsigned vcpu, CodePoint &code, trace::MarkerKind kind,
                         trace::Marker marker)
{
    trace::Event event = new_event(vcpu, code);
    event.kind = trace::EventKind::marker;
    event.subkind = static_cast<std::uint8_t>(kind);
    event.flags = 0;
    trace::EventBuffer &events = queue_.current().events;
    events.push_marker(event, std::move(marker));
    pushed();
}

void Tracer::push_markers(unsigned vcpu, CodePoint &code, const std::vector<NewMarker> &markers)
{
    if (system_calls_.take_process_change()) {
        for (const std::unique_ptr<Vcpu> &cpu : vcpus_)
            cpu->process = nullptr;
        // Of a process that was killed: this one has got its page tables.
        absent_.forget(address_space_of(*vcpus_[vcpu]), kAllAddresses);
    }
    if (!recording_)
        return;
    for (const NewMarker &marker : markers)
        push_marker(vcpu, code, marker.kind, marker.marker);
}

// Says where a range is in PM, as pairs of physical address and bytes; address 0 where a part of it
// is not.
void Tracer::locate_range(Vcpu &cpu, trace::Marker &marker)
{
    constexpr std::uint64_t kMostPages = 4096;
    std::uint64_t address = marker.arguments[0];
    std::uint64_t left = marker.arguments[1];
    std::vector<std::uint64_t> parts;
    for (std::uint64_t pages = 0; left > 0; ++pages) {
        const std::uint64_t bytes =
            pages == kMostPages ? left : std::min(left, kPageBytes - address % kPageBytes);
        std::uint64_t frame =
            pages == kMostPages ? TranslationCache::kUnknown : cpu.translations.find(address);
        if (frame == TranslationCache::kUnknown && pages != kMostPages)
            frame = walk_to_frame(cpu, address);
        const bool in_pm = frame < TranslationCache::kUnknown;
        const std::uint64_t physical = in_pm ? frame | address % kPageBytes : 0;
        const std::size_t size = parts.size();
        if (size != 0 &&
            (in_pm ? parts[size - 2] != 0 && parts[size - 2] + parts[size - 1] == physical
                   : parts[size - 2] == 0))
            parts[size - 1] += bytes;
        else
            parts.insert(parts.end(), {physical, bytes});
        address += bytes;
        left -= bytes;
    }
    marker.arguments.insert(marker.arguments.end(), parts.begin(), parts.end());
}

void Tracer::marker(unsigned vcpu, CodePoint &code)
{
    learn_paging(*vcpus_[vcpu]);
    const MarkerRegisters registers = {guest_.read(kRax), guest_.read(kRdi), guest_.read(kRsi),
                                       guest_.read(kRdx), guest_.read(kRcx)};
    std::optional<MarkerPayload> payload =
        decode_marker(registers, [&](std::uint64_t address, std::size_t length) {
            return guest_.read_bytes(address, length);
        });
    if (!payload) {
        ++quality_.malformed_markers;
        return;
    }
    if (workload_ended_)
        return;
    if (payload->system_calls == SystemCallSwitch::on)
        system_calls_.switch_on(address_space_of(*vcpus_[vcpu]));
    else if (payload->system_calls == SystemCallSwitch::off)
        system_calls_.switch_off();
    if (payload->system_calls != SystemCallSwitch::none)
        return;
    if (code.user && !payload->shared)
        payload->marker.process = address_space_of(*vcpus_[vcpu]);
    if (payload->kind == trace::MarkerKind::range)
        locate_range(*vcpus_[vcpu], payload->marker);
    push_marker(vcpu, code, payload->kind, std::move(payload->marker));
    if (payload->kind == trace::MarkerKind::record_on)
        recording_ = true;
    if (payload->kind == trace::MarkerKind::record_off)
        recording_ = false;
    workload_ended_ = workload_ended_ || payload->ends_workload;
}

void Tracer::system_call(unsigned vcpu, CodePoint &code)
{
    learn_paging(*vcpus_[vcpu]);
    if (options_.stacks)
        note_system_call(vcpu, code);
    if (!system_calls_.on() && absent_.empty())
        return;
    SystemCallEntry entry;
    entry.address_space = address_space_of(*vcpus_[vcpu]);
    entry.next_pc = code.next_pc();
    entry.stack = guest_.read(kRsp);
    entry.number = guest_.read(kRax);
    entry.arguments = {guest_.read(kRdi), guest_.read(kRsi), guest_.read(kRdx),
                       guest_.read(kR10), guest_.read(kR8),  guest_.read(kR9)};
    if (!absent_.empty()) [[unlikely]]
        leave_absent(*vcpus_[vcpu], entry);
    if (system_calls_.on())
        push_markers(vcpu, code, system_calls_.enter(entry));
}

void Tracer::return_from_kernel(unsigned vcpu, CodePoint &code)
{
    if (!system_calls_.on() && !options_.stacks && absent_.empty())
        return;
    Vcpu &cpu = *vcpus_[vcpu];
    learn_paging(cpu);
    if (!absent_.empty()) [[unlikely]]
        look_for_faulted(cpu);
    ReturnToUser back;
    if (code.what.transfer == Transfer::sysret) {
        back.pc = guest_.read(kRcx);
        back.stack = guest_.read(kRsp);
    } else {
        // The frame of iretq: rip, cs, rflags, rsp, ss.
        const std::uint64_t frame = guest_.read(kRsp);
        back.pc = guest_.read_word(frame).value_or(0);
        back.stack = guest_.read_word(frame + 24).value_or(0);
    }
    back.address_space = address_space_of(cpu);
    if (options_.stacks)
        note_return(cpu, back);
    if (!system_calls_.on() || is_kernel_address(back.pc))
        return;
    back.result = guest_.read(kRax);
    back.clear_registers = back.result == 0 && guest_.read(kRbx) == 0 && guest_.read(kRbp) == 0 &&
                           guest_.read(kR12) == 0;
    push_markers(vcpu, code, system_calls_.leave(back));
}

void Tracer::note_return(Vcpu &cpu, const ReturnToUser &back)
{
    if (is_kernel_address(back.pc))
        stacks_.set_stack_pointer(cpu.stacks, back.stack, false);
    else
        stacks_.enter_user(cpu.stacks, {back.address_space, guest_.read(kFsBase)}, back.stack);
}

void Tracer::note_system_call(unsigned vcpu, CodePoint &code)
{
    Vcpu &cpu = *vcpus_[vcpu];
    stacks_.enter_kernel(cpu.stacks, code, process_of(cpu));
    switch (guest_.read(kRax)) {
    case SYS_exit:
        stacks_.end_thread(cpu.stacks);
        break;
    case SYS_exit_group:
        stacks_.end_process(address_space_of(cpu));
        break;
    default:
        break;
    }
}

void Tracer::call(unsigned vcpu, std::uint64_t slot, CodePoint &code)
{
    stacks_.call(vcpus_[vcpu]->stacks, slot, code);
}

void Tracer::ret(unsigned vcpu, std::uint64_t slot, CodePoint &code)
{
    stacks_.ret(vcpus_[vcpu]->stacks, slot, code.user);
}

void Tracer::stack_pointer_move(unsigned vcpu, CodePoint &code)
{
    const std::uint64_t value = guest_.read(static_cast<Register>(code.what.stack_pointer_source));
    stacks_.set_stack_pointer(vcpus_[vcpu]->stacks, value, code.user);
}

void Tracer::stack_pointer_load(unsigned vcpu, qemu_plugin_meminfo_t info, CodePoint &code)
{
    stacks_.set_stack_pointer(vcpus_[vcpu]->stacks, qemu_plugin_mem_get_value(info).data.u64,
                              code.user);
}

} // namespace fencepost::tracer
