// SPDX-License-Identifier: GPL-2.0-or-later
// See marker_payload.h.
#include "qemu-plugin/marker_payload.h"

#include "qemu-plugin/guest_memory.h"
#include "qemu-plugin/marker/fencepost_marker.h"

namespace fencepost::tracer {

namespace {

using trace::MarkerKind;

std::optional<MarkerKind> kind_of(std::uint64_t code)
{
    switch (code) {
    case FENCEPOST_MARKER_OP_BEGIN:
        return MarkerKind::op_begin;
    case FENCEPOST_MARKER_OP_END:
        return MarkerKind::op_end;
    case FENCEPOST_MARKER_CHECKPOINT:
        return MarkerKind::checkpoint;
    case FENCEPOST_MARKER_EPOCH:
        return MarkerKind::epoch;
    case FENCEPOST_MARKER_STRAND_BEGIN:
        return MarkerKind::strand_begin;
    case FENCEPOST_MARKER_STRAND_END:
        return MarkerKind::strand_end;
    case FENCEPOST_MARKER_RANGE:
        return MarkerKind::range;
    case FENCEPOST_MARKER_RECORD_ON:
        return MarkerKind::record_on;
    case FENCEPOST_MARKER_RECORD_OFF:
    case FENCEPOST_MARKER_WORKLOAD_END:
        return MarkerKind::record_off;
    case FENCEPOST_MARKER_NOTE:
        return MarkerKind::note;
    default:
        return std::nullopt;
    }
}

} // namespace

std::optional<MarkerPayload> decode_marker(const MarkerRegisters &registers,
                                           const ReadText &read_text)
{
    MarkerPayload payload;
    if (registers.code == FENCEPOST_MARKER_SYSCALLS_ON ||
        registers.code == FENCEPOST_MARKER_SYSCALLS_OFF) {
        payload.system_calls = registers.code == FENCEPOST_MARKER_SYSCALLS_ON
                                   ? SystemCallSwitch::on
                                   : SystemCallSwitch::off;
        return payload;
    }
    payload.shared = registers.code & FENCEPOST_MARKER_SHARED;
    const std::optional<MarkerKind> kind =
        kind_of(registers.code & ~std::uint64_t{FENCEPOST_MARKER_SHARED});
    if (!kind || registers.length > FENCEPOST_MARKER_TEXT_MAX)
        return std::nullopt;
    payload.kind = *kind;
    payload.ends_workload =
        (registers.code & ~std::uint64_t{FENCEPOST_MARKER_SHARED}) == FENCEPOST_MARKER_WORKLOAD_END;
    if (registers.length > 0) {
        std::optional<std::string> text = read_text(registers.text, registers.length);
        if (!text)
            return std::nullopt;
        payload.marker.text = as_text(std::move(*text));
    }
    if (*kind == MarkerKind::range)
        payload.marker.arguments = {registers.number, registers.value};
    else
        payload.marker.number = static_cast<std::int64_t>(registers.number);
    if (*kind == MarkerKind::op_end)
        payload.marker.result = static_cast<std::int64_t>(registers.value);
    return payload;
}

} // namespace fencepost::tracer
