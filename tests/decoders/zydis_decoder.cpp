// SPDX-License-Identifier: GPL-2.0-or-later
// See zydis_decoder.h.
#include "tests/decoders/zydis_decoder.h"

#include <algorithm>
#include <array>

#include <Zydis/Zydis.h>

namespace fencepost::tracer {

namespace {

using trace::FenceKind;
using trace::FlushKind;
using trace::NtStoreKind;

struct Decoded {
    ZydisDecodedInstruction instruction;
    std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands = {};

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

constexpr OpcodeEffects kMovnt = {.nt_store = NtStoreKind::movnt};
constexpr OpcodeEffects kMaskmov = {.nt_store = NtStoreKind::maskmov};
constexpr OpcodeEffects kMovdir = {.nt_store = NtStoreKind::movdir};
constexpr OpcodeEffects kSerialising = {.fence = FenceKind::other_serialising};
constexpr OpcodeEffects kSerialisingTranslation = {.fence = FenceKind::other_serialising,
                                                   .changes_translation = true};
constexpr OpcodeEffects kTranslation = {.changes_translation = true};
constexpr OpcodeEffects kIret = {.fence = FenceKind::iret, .transfer = Transfer::iret};

constexpr struct {
    ZydisMnemonic mnemonic;
    OpcodeEffects effects;
} kEffects[] = {
    {ZYDIS_MNEMONIC_MOVNTI, kMovnt},
    {ZYDIS_MNEMONIC_MOVNTQ, kMovnt},
    {ZYDIS_MNEMONIC_MOVNTDQ, kMovnt},
    {ZYDIS_MNEMONIC_MOVNTPS, kMovnt},
    {ZYDIS_MNEMONIC_MOVNTPD, kMovnt},
    {ZYDIS_MNEMONIC_MOVNTSS, kMovnt},
    {ZYDIS_MNEMONIC_MOVNTSD, kMovnt},
    {ZYDIS_MNEMONIC_VMOVNTDQ, kMovnt},
    {ZYDIS_MNEMONIC_VMOVNTPS, kMovnt},
    {ZYDIS_MNEMONIC_VMOVNTPD, kMovnt},
    {ZYDIS_MNEMONIC_MASKMOVQ, kMaskmov},
    {ZYDIS_MNEMONIC_MASKMOVDQU, kMaskmov},
    {ZYDIS_MNEMONIC_VMASKMOVDQU, kMaskmov},
    {ZYDIS_MNEMONIC_MOVDIRI, kMovdir},
    {ZYDIS_MNEMONIC_MOVDIR64B, kMovdir},
    {ZYDIS_MNEMONIC_CLFLUSH, {.flush = FlushKind::clflush}},
    {ZYDIS_MNEMONIC_CLFLUSHOPT, {.flush = FlushKind::clflushopt}},
    {ZYDIS_MNEMONIC_CLWB, {.flush = FlushKind::clwb}},
    {ZYDIS_MNEMONIC_WBINVD, {.flush = FlushKind::wbinvd}},
    {ZYDIS_MNEMONIC_SFENCE, {.fence = FenceKind::sfence}},
    {ZYDIS_MNEMONIC_MFENCE, {.fence = FenceKind::mfence}},
    {ZYDIS_MNEMONIC_LFENCE, {.fence = FenceKind::lfence}},
    {ZYDIS_MNEMONIC_CPUID, {.fence = FenceKind::cpuid}},
    {ZYDIS_MNEMONIC_SERIALIZE, {.fence = FenceKind::serialize}},
    {ZYDIS_MNEMONIC_IRET, kIret},
    {ZYDIS_MNEMONIC_IRETD, kIret},
    {ZYDIS_MNEMONIC_IRETQ, kIret},
    {ZYDIS_MNEMONIC_INVD, kSerialising},
    {ZYDIS_MNEMONIC_INVEPT, kSerialising},
    {ZYDIS_MNEMONIC_INVVPID, kSerialising},
    {ZYDIS_MNEMONIC_LGDT, kSerialising},
    {ZYDIS_MNEMONIC_LIDT, kSerialising},
    {ZYDIS_MNEMONIC_LLDT, kSerialising},
    {ZYDIS_MNEMONIC_LTR, kSerialising},
    {ZYDIS_MNEMONIC_INVLPG, kSerialisingTranslation},
    {ZYDIS_MNEMONIC_INVPCID, kSerialisingTranslation},
    {ZYDIS_MNEMONIC_RSM, kSerialisingTranslation},
    {ZYDIS_MNEMONIC_WRMSR, kSerialisingTranslation},
    {ZYDIS_MNEMONIC_INVLPGA, kTranslation},
    {ZYDIS_MNEMONIC_LMSW, kTranslation},
    {ZYDIS_MNEMONIC_VMRUN, kTranslation},
    {ZYDIS_MNEMONIC_CALL, {.transfer = Transfer::call}},
    {ZYDIS_MNEMONIC_RET, {.transfer = Transfer::ret}},
    {ZYDIS_MNEMONIC_SYSCALL, {.transfer = Transfer::syscall}},
    {ZYDIS_MNEMONIC_SYSRET, {.transfer = Transfer::sysret}},
};

std::uint8_t register_number(ZydisRegister reg)
{
    const ZydisRegisterClass kind = ZydisRegisterGetClass(reg);
    return kind == ZYDIS_REGCLASS_GPR32 || kind == ZYDIS_REGCLASS_GPR64
               ? static_cast<std::uint8_t>(ZydisRegisterGetId(reg))
               : kNoRegister;
}

MemoryOperand operand_of(const ZydisDecodedInstruction &instruction,
                         const ZydisDecodedOperandMem &memory)
{
    MemoryOperand operand;
    operand.base = register_number(memory.base);
    operand.index = register_number(memory.index);
    operand.scale = operand.index == kNoRegister ? std::uint8_t{0} : memory.scale;
    operand.address_bits = instruction.address_width;
    operand.segment = memory.segment == ZYDIS_REGISTER_FS   ? Segment::fs
                      : memory.segment == ZYDIS_REGISTER_GS ? Segment::gs
                                                            : Segment::flat;
    operand.rip_relative = memory.base == ZYDIS_REGISTER_RIP || memory.base == ZYDIS_REGISTER_EIP;
    operand.displacement = memory.disp.value;
    return operand;
}

bool may_be_pm(const ZydisDecodedOperandMem &memory)
{
    return memory.base != ZYDIS_REGISTER_RSP && memory.base != ZYDIS_REGISTER_ESP &&
           memory.base != ZYDIS_REGISTER_RIP && memory.segment != ZYDIS_REGISTER_GS &&
           memory.segment != ZYDIS_REGISTER_FS;
}

void note_memory(const Decoded &decoded, Instruction &result)
{
    bool writes_anything = false;
    for (const ZydisDecodedOperand &operand : decoded.used()) {
        if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY)
            continue;
        if (result.flush) {
            result.operand = operand_of(decoded.instruction, operand.mem);
            return;
        }
        if (operand.mem.type != ZYDIS_MEMOP_TYPE_MEM && operand.mem.type != ZYDIS_MEMOP_TYPE_VSIB)
            continue;
        const bool written = operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
        writes_anything |= written;
        result.writes_memory |= written && may_be_pm(operand.mem);
        result.reads_memory |=
            (operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ) && may_be_pm(operand.mem);
    }
    const ZydisMnemonic mnemonic = decoded.instruction.mnemonic;
    result.writes_memory |= mnemonic == ZYDIS_MNEMONIC_MOVDIR64B;
    result.swaps_bytes = mnemonic == ZYDIS_MNEMONIC_MOVBE && writes_anything;
    const bool lock = decoded.instruction.attributes & ZYDIS_ATTRIB_HAS_LOCK;
    result.locked = writes_anything && (lock || mnemonic == ZYDIS_MNEMONIC_XCHG);
    if (result.locked)
        result.fence = mnemonic == ZYDIS_MNEMONIC_XCHG ? FenceKind::xchg : FenceKind::lock_rmw;
}

void note_move(const Decoded &decoded, Instruction &result)
{
    const ZydisDecodedOperand &target = decoded.operands[0];
    const ZydisDecodedOperand &source = decoded.operands[1];
    if (decoded.instruction.mnemonic != ZYDIS_MNEMONIC_MOV ||
        target.type != ZYDIS_OPERAND_TYPE_REGISTER)
        return;
    const ZydisRegisterClass kind = ZydisRegisterGetClass(target.reg.value);
    const bool from_register = source.type == ZYDIS_OPERAND_TYPE_REGISTER;
    result.changes_translation = kind == ZYDIS_REGCLASS_CONTROL;
    if (kind == ZYDIS_REGCLASS_DEBUG ||
        (kind == ZYDIS_REGCLASS_CONTROL && target.reg.value != ZYDIS_REGISTER_CR8))
        result.fence = FenceKind::other_serialising;
    if (target.reg.value == ZYDIS_REGISTER_CR3)
        result.cr3_source = register_number(source.reg.value);
    if (target.reg.value != ZYDIS_REGISTER_RSP)
        return;
    result.loads_stack_pointer = source.type == ZYDIS_OPERAND_TYPE_MEMORY;
    if (from_register && source.reg.value != ZYDIS_REGISTER_RBP)
        result.stack_pointer_source = register_number(source.reg.value);
}

} // namespace

std::size_t zydis_length(std::span<const std::uint8_t> bytes)
{
    ZydisDecoder decoder;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    ZydisDecodedInstruction instruction;
    return ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, nullptr, bytes.data(), bytes.size(),
                                                      &instruction))
               ? instruction.length
               : 0;
}

ZydisView zydis_decode(std::span<const std::uint8_t> bytes)
{
    ZydisView view;
    Instruction &result = view.what;
    result.length = static_cast<std::uint8_t>(bytes.size());
    Decoded decoded;
    view.bits64 = decode_as(ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64, bytes, decoded);
    if (!view.bits64 &&
        !decode_as(ZYDIS_MACHINE_MODE_LEGACY_32, ZYDIS_STACK_WIDTH_32, bytes, decoded))
        return view;
    const ZydisMnemonic mnemonic = decoded.instruction.mnemonic;
    if (view.bits64) {
        view.mnemonic = ZydisMnemonicGetString(mnemonic);
        view.set = ZydisISASetGetString(decoded.instruction.meta.isa_set);
    }
    result.decoded = true;
    result.privileged = decoded.instruction.attributes & ZYDIS_ATTRIB_IS_PRIVILEGED;
    for (const auto &known : kEffects)
        if (known.mnemonic == mnemonic) {
            result.nt_store = known.effects.nt_store;
            result.flush = known.effects.flush;
            result.fence = known.effects.fence;
            result.transfer = known.effects.transfer;
            result.changes_translation = known.effects.changes_translation;
        }
    // It has no name for wbnoinvd.
    if (result.flush == FlushKind::wbinvd && std::ranges::find(bytes, 0xf3) != bytes.end())
        result.flush = FlushKind::wbnoinvd;
    note_move(decoded, result);
    note_memory(decoded, result);
    return view;
}

} // namespace fencepost::tracer
