// SPDX-License-Identifier: GPL-2.0-or-later
// What the registers and memory at a marker instruction say. Whatever the guest put there is data:
// nothing in it can do more than be refused.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "trace/event_buffer.h"

namespace fencepost::tracer {

struct MarkerRegisters {
    std::uint64_t code = 0;   // rax
    std::uint64_t number = 0; // rdi
    std::uint64_t text = 0;   // rsi
    std::uint64_t length = 0; // rdx
    std::uint64_t value = 0;  // rcx
};

// Reads `length` (not 0) bytes of the guest's memory; nothing if some of them are not mapped.
using ReadText =
    std::function<std::optional<std::string>(std::uint64_t address, std::size_t length)>;

enum class SystemCallSwitch : std::uint8_t { none, on, off };

struct MarkerPayload {
    trace::MarkerKind kind = trace::MarkerKind::note;
    SystemCallSwitch system_calls =
        SystemCallSwitch::none; // not none: no event, `kind` says nothing
    bool shared = false;        // belongs to no process
    bool ends_workload = false; // a record_off for good
    trace::Marker marker;       // all but `process`
};

// Nothing: an unknown code, a text that is too long or cannot be read.
std::optional<MarkerPayload> decode_marker(const MarkerRegisters &registers,
                                           const ReadText &read_text);

} // namespace fencepost::tracer
