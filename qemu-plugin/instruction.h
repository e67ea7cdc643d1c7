// SPDX-License-Identifier: GPL-2.0-or-later
// What an instruction can do that a trace records, from its bytes alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "qemu-plugin/encoding.h"
#include "qemu-plugin/opcodes.h"
#include "trace/event.h"

struct cs_insn; // capstone's

namespace fencepost::tracer {

inline constexpr std::size_t kMaxInstructionBytes = 15;

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

    bool operator==(const MemoryOperand &) const = default;
};

struct Instruction {
    bool decoded = false; // false: nothing below says anything, expect anything
    std::uint8_t length = 0;
    // Whether a memory callback can come, and could be about PM. Where that is not certain, it is
    // true: a callback that never comes costs nothing.
    bool writes_memory = false;
    bool reads_memory = false;
    bool swaps_bytes = false; // QEMU then reports the value as it was before
    std::optional<trace::NtStoreKind> nt_store;
    std::optional<trace::FlushKind> flush; // with `operand`, except for the flushes of everything
    MemoryOperand operand;
    // A fence by itself; of a locked instruction, together with its store.
    std::optional<trace::FenceKind> fence;
    bool locked = false;
    bool privileged = false;               // flushes, fences and the like that fault in user mode
    bool changes_translation = false;      // what a virtual address means may be another after it
    std::uint8_t cr3_source = kNoRegister; // register that is moved to cr3
    // What the stack pointer is set to, other than by calls, returns, pushes and arithmetic.
    std::uint8_t stack_pointer_source = kNoRegister;
    bool loads_stack_pointer = false; // from memory
    bool marker = false;
    Transfer transfer = Transfer::none;
};

// For one thread. The first must be made before another thread uses one.
class Decoder {
public:
    // Throws a guest error where the process has another version of capstone than this was built
    // with.
    Decoder();
    ~Decoder();
    Decoder(const Decoder &) = delete;
    Decoder &operator=(const Decoder &) = delete;

    // `bytes` hold one whole instruction of 64-bit code, or of 32-bit code where only that has its
    // length.
    Instruction decode(std::span<const std::uint8_t> bytes);
    // In Intel's syntax, as it runs at `pc`.
    std::string disassemble(std::span<const std::uint8_t> bytes, std::uint64_t pc);

private:
    // Whether capstone knows it with this length; then it is in `found_`, and `mode_` is its mode.
    bool find(std::span<const std::uint8_t> bytes, std::uint64_t pc);
    bool find_in(CodeMode mode, std::span<const std::uint8_t> bytes, std::uint64_t pc);
    Instruction decode_new(std::span<const std::uint8_t> bytes);

    // Decoded before; most of what QEMU translates was, and capstone takes its time.
    struct Known {
        std::array<std::uint8_t, kMaxInstructionBytes> bytes = {};
        Instruction what; // length 0: none yet
    };
    std::vector<Known> known_;    // by a hash of the bytes
    std::size_t handles_[2] = {}; // by CodeMode
    cs_insn *found_ = nullptr;
    CodeMode mode_ = CodeMode::bits64;
};

} // namespace fencepost::tracer
