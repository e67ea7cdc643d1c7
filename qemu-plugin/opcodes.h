// SPDX-License-Identifier: GPL-2.0-or-later
// Opcodes of instructions that are an event by themselves, or that capstone does not know.
#pragma once

#include <optional>

#include "qemu-plugin/encoding.h"
#include "trace/event.h"

namespace fencepost::tracer {

enum class Transfer : std::uint8_t { none, call, ret, syscall, sysret, iret };

struct OpcodeEffects {
    std::optional<trace::NtStoreKind> nt_store = {};
    std::optional<trace::FlushKind> flush = {};
    std::optional<trace::FenceKind> fence = {}; // xchg: of its form with memory
    Transfer transfer = Transfer::none;
    bool changes_translation = false;
    bool privileged = false;
    bool swaps_bytes = false;
    bool writes = false; // to memory other than the stack
};

struct KnownOpcode {
    const char *name;
    OpcodeEffects effects;
};

// Nothing: whether it writes is for its operands to say, and else it is no event.
const KnownOpcode *find_opcode(const Encoding &encoding);

} // namespace fencepost::tracer
