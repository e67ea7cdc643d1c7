// SPDX-License-Identifier: GPL-2.0-or-later
// How an instruction is encoded: prefixes, opcode and ModR/M byte (Intel's manual, volume 2,
// chapter 2). Its operands and its text are the disassembler's work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace fencepost::tracer {

enum class CodeMode : std::uint8_t { bits64, bits32 };
enum class OpcodeMap : std::uint8_t { primary, x0f, x0f38, x0f3a, other };

struct Encoding {
    OpcodeMap map = OpcodeMap::primary;
    std::uint8_t opcode = 0;
    std::uint8_t modrm = 0;  // 0 where nothing follows the opcode
    std::uint8_t prefix = 0; // 0x66, 0xf2 or 0xf3, the one that chooses among instructions; or 0
    std::uint8_t rex = 0;
    bool vex = false; // or EVEX or XOP
    bool lock = false;
    std::uint8_t size = 0; // up to and including the ModR/M byte

    bool names_memory() const { return modrm >> 6 != 3; }
    std::uint8_t modrm_reg() const { return modrm >> 3 & 7; }
    // Numbers of registers, extended by REX.
    std::uint8_t reg() const { return static_cast<std::uint8_t>(modrm_reg() | (rex & 4) << 1); }
    std::uint8_t rm() const { return static_cast<std::uint8_t>((modrm & 7) | (rex & 1) << 3); }
};

Encoding read_encoding(CodeMode mode, std::span<const std::uint8_t> bytes);

// A call or jump to a displacement, without prefixes.
bool is_direct_branch(std::span<const std::uint8_t> bytes);

// The same instruction with each prefix at most once, in the usual order, and without those that a
// processor ignores. Capstone takes 66, F2 and F3 for part of the opcode only right before it.
std::vector<std::uint8_t> with_usual_prefixes(CodeMode mode, std::span<const std::uint8_t> bytes);

} // namespace fencepost::tracer
