// SPDX-License-Identifier: GPL-2.0-or-later
// The part of Tracer that records what the guest says it does: markers and system calls.
#include "qemu-plugin/marker_payload.h"
#include "qemu-plugin/tracer.h"

namespace fencepost::tracer {

void Tracer::push_marker(unsigned vcpu, CodePoint &code, trace::MarkerKind kind, trace::Marker marker)
{
    trace::Event event = new_event(vcpu, code);
    event.kind = trace::EventKind::marker;
    event.subkind = static_cast<std::uint8_t>(kind);
    event.flags = 0;
    trace::EventBuffer &events = queue_.current().events;
    events.push_marker(event, std::move(marker));
    if (events.full())
        queue_.hand_over();
}

void Tracer::push_markers(unsigned vcpu, CodePoint &code, const std::vector<NewMarker> &markers)
{
    if (system_calls_.take_process_change())
        for (const std::unique_ptr<Vcpu> &cpu : vcpus_)
            cpu->process = nullptr;
    if (!recording_)
        return;
    for (const NewMarker &marker : markers)
        push_marker(vcpu, code, marker.kind, marker.marker);
}

void Tracer::marker(unsigned vcpu, CodePoint &code)
{
    const MarkerRegisters registers = {guest_.read(kRax), guest_.read(kRdi), guest_.read(kRsi), guest_.read(kRdx),
                                       guest_.read(kRcx)};
    std::optional<MarkerPayload> payload =
        decode_marker(registers, [&](std::uint64_t address, std::size_t length) {
            return guest_.read_bytes(address, length);
        });
    if (!payload) {
        ++quality_.malformed_markers;
        return;
    }
    if (payload->system_calls == SystemCallSwitch::on)
        system_calls_.switch_on(address_space_of(*vcpus_[vcpu]));
    else if (payload->system_calls == SystemCallSwitch::off)
        system_calls_.switch_off();
    if (payload->system_calls != SystemCallSwitch::none)
        return;
    if (code.user)
        payload->marker.process = address_space_of(*vcpus_[vcpu]);
    push_marker(vcpu, code, payload->kind, std::move(payload->marker));
    if (payload->kind == trace::MarkerKind::record_on)
        recording_ = true;
    if (payload->kind == trace::MarkerKind::record_off)
        recording_ = false;
}

void Tracer::system_call(unsigned vcpu, CodePoint &code)
{
    if (!system_calls_.on())
        return;
    SystemCallEntry entry;
    entry.address_space = address_space_of(*vcpus_[vcpu]);
    entry.next_pc = code.next_pc();
    entry.stack = guest_.read(kRsp);
    entry.number = guest_.read(kRax);
    entry.arguments = {guest_.read(kRdi), guest_.read(kRsi), guest_.read(kRdx),
                       guest_.read(kR10), guest_.read(kR8),  guest_.read(kR9)};
    push_markers(vcpu, code, system_calls_.enter(entry));
}

void Tracer::return_from_kernel(unsigned vcpu, CodePoint &code)
{
    if (!system_calls_.on())
        return;
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
    if (is_kernel_address(back.pc))
        return;
    back.address_space = address_space_of(*vcpus_[vcpu]);
    back.result = guest_.read(kRax);
    back.clear_registers =
        back.result == 0 && guest_.read(kRbx) == 0 && guest_.read(kRbp) == 0 && guest_.read(kR12) == 0;
    push_markers(vcpu, code, system_calls_.leave(back));
}

} // namespace fencepost::tracer
