// SPDX-License-Identifier: GPL-2.0-or-later
// See instruction.h. The manual is Intel's, volumes 2 and 3 (8.3, serialising instructions).
#include "qemu-plugin/instruction.h"

#include <algorithm>
#include <array>

#include <Zydis/Zydis.h>

#include "qemu-plugin/marker/fencepost_marker.h"

namespace fencepost::tracer {

namespace {

using trace::FenceKind;
using trace::FlushKind;
using trace::NtStoreKind;

struct Decoded {
    ZydisDecodedInstruction instruction;
    std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands;

    std::span<const ZydisDecodedOperand> used() const
    {
        return std::span(operands).first(instruction.operand_count);
    }
};

bool decode_as(ZydisMachineMode mode, ZydisStackWidth width, std::span<const std::uint8_t> bytes,
               Decoded &out)
{
    ZydisDecoder decoder;
    ZydisDecoderInit(&decoder, mode, width);
    return ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes.data(), bytes.size(),
                                               &out.instruction, out.operands.data())) &&
           out.instruction.length == bytes.size();
}

// A 32-bit program mostly shows itself by instructions that have another length in 64-bit code.
bool decode_any(std::span<const std::uint8_t> bytes, Decoded &out)
{
    return decode_as(ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64, bytes, out) ||
           decode_as(ZYDIS_MACHINE_MODE_LEGACY_32, ZYDIS_STACK_WIDTH_32, bytes, out);
}

std::optional<NtStoreKind> nt_store_kind(ZydisMnemonic mnemonic)
{
    switch (mnemonic) {
    case ZYDIS_MNEMONIC_MOVNTI:
    case ZYDIS_MNEMONIC_MOVNTQ:
    case ZYDIS_MNEMONIC_MOVNTDQ:
    case ZYDIS_MNEMONIC_MOVNTPS:
    case ZYDIS_MNEMONIC_MOVNTPD:
    case ZYDIS_MNEMONIC_MOVNTSS:
    case ZYDIS_MNEMONIC_MOVNTSD:
    case ZYDIS_MNEMONIC_VMOVNTDQ:
    case ZYDIS_MNEMONIC_VMOVNTPS:
    case ZYDIS_MNEMONIC_VMOVNTPD:
        return NtStoreKind::movnt;
    // vmaskmovps and vpmaskmovd are ordinary stores in spite of their names.
    case ZYDIS_MNEMONIC_MASKMOVQ:
    case ZYDIS_MNEMONIC_MASKMOVDQU:
    case ZYDIS_MNEMONIC_VMASKMOVDQU:
        return NtStoreKind::maskmov;
    case ZYDIS_MNEMONIC_MOVDIRI:
    case ZYDIS_MNEMONIC_MOVDIR64B:
        return NtStoreKind::movdir;
    default:
        return std::nullopt;
    }
}

std::optional<FlushKind> flush_kind(const ZydisDecodedInstruction &instruction,
                                    std::span<const std::uint8_t> bytes)
{
    switch (instruction.mnemonic) {
    case ZYDIS_MNEMONIC_CLFLUSH:
        return FlushKind::clflush;
    case ZYDIS_MNEMONIC_CLFLUSHOPT:
        return FlushKind::clflushopt;
    case ZYDIS_MNEMONIC_CLWB:
        return FlushKind::clwb;
    case ZYDIS_MNEMONIC_WBINVD:
        // The library does not know wbnoinvd: wbinvd with a prefix that older processors ignore.
        return std::find(bytes.begin(), bytes.end(), 0xf3) != bytes.end() ? FlushKind::wbnoinvd
                                                                          : FlushKind::wbinvd;
    default:
        return std::nullopt;
    }
}

bool is_register_in(const ZydisDecodedOperand &operand, ZydisRegisterClass wanted)
{
    return operand.type == ZYDIS_OPERAND_TYPE_REGISTER &&
           ZydisRegisterGetClass(operand.reg.value) == wanted;
}

std::optional<FenceKind> fence_kind(const Decoded &decoded)
{
    switch (decoded.instruction.mnemonic) {
    case ZYDIS_MNEMONIC_SFENCE:
        return FenceKind::sfence;
    case ZYDIS_MNEMONIC_MFENCE:
        return FenceKind::mfence;
    case ZYDIS_MNEMONIC_LFENCE:
        return FenceKind::lfence;
    case ZYDIS_MNEMONIC_CPUID:
        return FenceKind::cpuid;
    case ZYDIS_MNEMONIC_IRET:
    case ZYDIS_MNEMONIC_IRETD:
    case ZYDIS_MNEMONIC_IRETQ:
        return FenceKind::iret;
    case ZYDIS_MNEMONIC_SERIALIZE:
        return FenceKind::serialize;
    case ZYDIS_MNEMONIC_INVD:
    case ZYDIS_MNEMONIC_INVEPT:
    case ZYDIS_MNEMONIC_INVLPG:
    case ZYDIS_MNEMONIC_INVPCID:
    case ZYDIS_MNEMONIC_INVVPID:
    case ZYDIS_MNEMONIC_LGDT:
    case ZYDIS_MNEMONIC_LIDT:
    case ZYDIS_MNEMONIC_LLDT:
    case ZYDIS_MNEMONIC_LTR:
    case ZYDIS_MNEMONIC_RSM:
    case ZYDIS_MNEMONIC_WRMSR:
        return FenceKind::other_serialising;
    case ZYDIS_MNEMONIC_MOV: {
        const ZydisDecodedOperand &target = decoded.operands[0];
        const bool control = is_register_in(target, ZYDIS_REGCLASS_CONTROL) &&
                             target.reg.value != ZYDIS_REGISTER_CR8;
        if (control || is_register_in(target, ZYDIS_REGCLASS_DEBUG))
            return FenceKind::other_serialising;
        return std::nullopt;
    }
    default:
        return std::nullopt;
    }
}

bool changes_translation(const Decoded &decoded)
{
    switch (decoded.instruction.mnemonic) {
    case ZYDIS_MNEMONIC_INVLPG:
    case ZYDIS_MNEMONIC_INVLPGA:
    case ZYDIS_MNEMONIC_INVPCID:
    case ZYDIS_MNEMONIC_LMSW:
    case ZYDIS_MNEMONIC_RSM:
    case ZYDIS_MNEMONIC_VMRUN:
    case ZYDIS_MNEMONIC_WRMSR:
        return true;
    case ZYDIS_MNEMONIC_MOV:
        return is_register_in(decoded.operands[0], ZYDIS_REGCLASS_CONTROL);
    default:
        return false;
    }
}

Transfer transfer_of(ZydisMnemonic mnemonic)
{
    switch (mnemonic) {
    case ZYDIS_MNEMONIC_CALL:
        return Transfer::call;
    case ZYDIS_MNEMONIC_RET:
        return Transfer::ret;
    case ZYDIS_MNEMONIC_SYSCALL:
        return Transfer::syscall;
    case ZYDIS_MNEMONIC_SYSRET:
        return Transfer::sysret;
    case ZYDIS_MNEMONIC_IRET:
    case ZYDIS_MNEMONIC_IRETD:
    case ZYDIS_MNEMONIC_IRETQ:
        return Transfer::iret;
    default:
        return Transfer::none;
    }
}

std::uint8_t register_number(ZydisRegister reg)
{
    switch (ZydisRegisterGetClass(reg)) {
    case ZYDIS_REGCLASS_GPR32:
    case ZYDIS_REGCLASS_GPR64:
        return static_cast<std::uint8_t>(ZydisRegisterGetId(reg));
    default:
        return kNoRegister;
    }
}

MemoryOperand operand_of(const ZydisDecodedInstruction &instruction,
                         const ZydisDecodedOperandMem &memory)
{
    MemoryOperand operand;
    operand.base = register_number(memory.base);
    operand.index = register_number(memory.index);
    operand.scale = memory.scale;
    operand.address_bits = instruction.address_width;
    operand.segment = memory.segment == ZYDIS_REGISTER_FS   ? Segment::fs
                      : memory.segment == ZYDIS_REGISTER_GS ? Segment::gs
                                                            : Segment::flat;
    operand.rip_relative = memory.base == ZYDIS_REGISTER_RIP || memory.base == ZYDIS_REGISTER_EIP;
    operand.displacement = memory.disp.value;
    return operand;
}

// Stacks, per-CPU and thread-local data, and variables of the program's own are never PM. Leaving
// them out here makes most callbacks unnecessary; were it ever wrong, the completeness check would
// show it.
bool may_be_pm(const ZydisDecodedOperandMem &memory)
{
    switch (memory.base) {
    case ZYDIS_REGISTER_RSP:
    case ZYDIS_REGISTER_ESP:
    case ZYDIS_REGISTER_RIP:
        return false;
    default:
        return memory.segment != ZYDIS_REGISTER_GS && memory.segment != ZYDIS_REGISTER_FS;
    }
}

bool is_marker(std::span<const std::uint8_t> bytes)
{
    const std::uint32_t magic = FENCEPOST_MARKER_MAGIC;
    const std::uint8_t wanted[] = {0x0f,
                                   0x1f,
                                   0x84,
                                   0x00,
                                   static_cast<std::uint8_t>(magic),
                                   static_cast<std::uint8_t>(magic >> 8),
                                   static_cast<std::uint8_t>(magic >> 16),
                                   static_cast<std::uint8_t>(magic >> 24)};
    return bytes.size() == sizeof wanted && std::equal(bytes.begin(), bytes.end(), wanted);
}

void note_memory(const Decoded &decoded, Instruction &result)
{
    bool writes_anything = false;
    for (const ZydisDecodedOperand &operand : decoded.used()) {
        if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY)
            continue;
        if (result.flush)
            result.operand = operand_of(decoded.instruction, operand.mem);
        if (operand.mem.type != ZYDIS_MEMOP_TYPE_MEM && operand.mem.type != ZYDIS_MEMOP_TYPE_VSIB)
            continue;
        const bool possible = may_be_pm(operand.mem);
        if (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) {
            writes_anything = true;
            result.writes_memory |= possible;
        }
        if (operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ)
            result.reads_memory |= possible;
    }
    if (decoded.instruction.mnemonic == ZYDIS_MNEMONIC_MOVDIR64B)
        result.writes_memory = true;
    const bool lock_prefix = decoded.instruction.attributes & ZYDIS_ATTRIB_HAS_LOCK;
    if (decoded.instruction.mnemonic == ZYDIS_MNEMONIC_XCHG && writes_anything)
        result.fence = FenceKind::xchg;
    else if (lock_prefix && writes_anything)
        result.fence = FenceKind::lock_rmw;
    else
        return;
    result.locked = true;
}

// `mov rsp, rbp` ends a function and only frees what it allocated.
void note_stack_pointer(const Decoded &decoded, Instruction &result)
{
    const ZydisDecodedOperand &target = decoded.operands[0];
    const ZydisDecodedOperand &source = decoded.operands[1];
    if (decoded.instruction.mnemonic != ZYDIS_MNEMONIC_MOV ||
        target.type != ZYDIS_OPERAND_TYPE_REGISTER || target.reg.value != ZYDIS_REGISTER_RSP)
        return;
    if (source.type == ZYDIS_OPERAND_TYPE_MEMORY)
        result.loads_stack_pointer = true;
    else if (source.type == ZYDIS_OPERAND_TYPE_REGISTER && source.reg.value != ZYDIS_REGISTER_RBP)
        result.stack_pointer_source = register_number(source.reg.value);
}

} // namespace

Instruction decode(std::span<const std::uint8_t> bytes)
{
    Instruction result;
    result.length = static_cast<std::uint8_t>(bytes.size());
    Decoded decoded;
    if (!decode_any(bytes, decoded))
        return result;
    result.decoded = true;
    result.marker = is_marker(bytes);
    result.swaps_bytes = decoded.instruction.mnemonic == ZYDIS_MNEMONIC_MOVBE;
    result.nt_store = nt_store_kind(decoded.instruction.mnemonic);
    result.flush = flush_kind(decoded.instruction, bytes);
    result.fence = fence_kind(decoded);
    result.changes_translation = changes_translation(decoded);
    result.privileged = decoded.instruction.attributes & ZYDIS_ATTRIB_IS_PRIVILEGED;
    result.transfer = transfer_of(decoded.instruction.mnemonic);
    if (decoded.instruction.mnemonic == ZYDIS_MNEMONIC_MOV &&
        decoded.operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
        decoded.operands[0].reg.value == ZYDIS_REGISTER_CR3)
        result.cr3_source = register_number(decoded.operands[1].reg.value);
    note_stack_pointer(decoded, result);
    note_memory(decoded, result);
    if (result.flush) {
        result.writes_memory = false;
        result.reads_memory = false;
    }
    return result;
}

std::string disassemble(std::span<const std::uint8_t> bytes, std::uint64_t pc)
{
    Decoded decoded;
    if (!decode_any(bytes, decoded))
        return "(bad)";
    ZydisFormatter formatter;
    ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_INTEL);
    char text[256];
    if (!ZYAN_SUCCESS(ZydisFormatterFormatInstruction(
            &formatter, &decoded.instruction, decoded.operands.data(),
            decoded.instruction.operand_count_visible, text, sizeof text, pc, nullptr)))
        return "(bad)";
    return text;
}

} // namespace fencepost::tracer
