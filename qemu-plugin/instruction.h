// SPDX-License-Identifier: GPL-2.0-or-later
// What an instruction can do that a trace records, from its bytes alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "trace/event.h"

namespace fencepost::tracer {

// General registers by their number in an encoding: 0 = rax, 1 = rcx, … 15 = r15.
inline constexpr std::uint8_t kNoRegister = 0xff;
enum class Segment : std::uint8_t { flat, fs, gs };

// An address as an instruction names it.
struct MemoryOperand {
    std::uint8_t base = kNoRegister;
    std::uint8_t index = kNoRegister;
    std::uint8_t scale = 0;
    std::uint8_t address_bits = 64;
    Segment segment = Segment::flat;
    bool rip_relative = false;
    std::int64_t displacement = 0; // rip-relative: from the end of the instruction
};

enum class Transfer : std::uint8_t { none, call, ret, syscall, sysret, iret };

struct Instruction {
    bool decoded = false; // false: nothing below says anything, expect anything
    std::uint8_t length = 0;
    // Whether a memory callback will come, and could be about PM.
    bool writes_memory = false;
    bool reads_memory = false;
    bool swaps_bytes = false; // QEMU then reports the value as it was before
    std::optional<trace::NtStoreKind> nt_store;
    std::optional<trace::FlushKind> flush; // with `operand`, except for the flushes of everything
    MemoryOperand operand;
    // A fence by itself; of a locked instruction, together with its store.
    std::optional<trace::FenceKind> fence;
    bool locked = false;
    bool privileged = false;               // faults in user mode, so does nothing there
    bool changes_translation = false;      // what a virtual address means may be another after it
    std::uint8_t cr3_source = kNoRegister; // register that is moved to cr3
    // What the stack pointer is set to, other than by calls, returns, pushes and arithmetic.
    std::uint8_t stack_pointer_source = kNoRegister;
    bool loads_stack_pointer = false; // from memory
    bool marker = false;
    Transfer transfer = Transfer::none;
};

// `bytes` hold one whole instruction of 64-bit code, or of 32-bit code where only that has its
// length.
Instruction decode(std::span<const std::uint8_t> bytes);
// In Intel's syntax, as it runs at `pc`.
std::string disassemble(std::span<const std::uint8_t> bytes, std::uint64_t pc);

} // namespace fencepost::tracer
