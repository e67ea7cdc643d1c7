// SPDX-License-Identifier: GPL-2.0-or-later
// See explanations.h.
#include "tests/decoders/explanations.h"

#include <algorithm>

namespace fencepost::tracer {

namespace {

// Extensions that the emulation of QEMU 10.0 does not have: it raises an exception instead.
constexpr const char *kNotEmulated[] = {
    "AMD_INVLPGB", "AMX",        "AVX512",    "AVX_GFNI", "AVX_VNNI",  "CET",
    "CLZERO",      "ENQCMD",     "GFNI",      "HRESET",   "KEYLOCKER", "KNC",
    "LWP",         "MCOMMIT",    "MONITORX",  "MOVDIR",   "PADLOCK",   "PCONFIG",
    "PT",          "RDPRU",      "SGX_ENCLV", "SNP",      "TDX",       "TSX_LDTRK",
    "UINTR",       "VPCLMULQDQ", "VTX",       "WAITPKG",  "XOP"};

bool not_emulated(const Case &given)
{
    return std::ranges::any_of(kNotEmulated,
                               [&](const char *set) { return given.zydis.set.starts_with(set); });
}

bool is_one_of(const Case &given, std::initializer_list<const char *> mnemonics)
{
    return std::ranges::find(mnemonics, given.zydis.mnemonic) != mnemonics.end();
}

Encoding encoding_of(const Case &given)
{
    return read_encoding(CodeMode::bits64, given.bytes);
}

bool known_without_prefixes(const Case &given)
{
    constexpr std::uint8_t kPrefixes[] = {0xf0, 0x66, 0xf2, 0xf3, 0x2e, 0x3e,
                                          0x26, 0x36, 0x64, 0x65, 0x67};
    std::span rest = given.bytes;
    while (!rest.empty() &&
           (std::ranges::find(kPrefixes, rest[0]) != std::end(kPrefixes) || rest[0] >> 4 == 4))
        rest = rest.subspan(1);
    return rest.size() != given.bytes.size() && zydis_length(rest) != 0;
}

bool names_special_register(const Case &given)
{
    const Encoding encoding = encoding_of(given);
    if (encoding.map == OpcodeMap::primary)
        return encoding.opcode == 0x8c || encoding.opcode == 0x8e;
    return encoding.map == OpcodeMap::x0f && (encoding.opcode >> 2 == 0x20 >> 2 ||
                                              encoding.opcode == 0x1a || encoding.opcode == 0x1b);
}

// The first that covers a field is taken.
constexpr Explanation kTable[] = {
    {kWrites, "taken for a possible store though it only reads: the callback never comes",
     [](const Case &given) { return given.own.writes_memory; }},
    {kReads, "taken for a possible load though it only writes: the callback never comes",
     [](const Case &given) { return given.own.reads_memory; }},
    {kAllFields, "of an extension that QEMU does not emulate", not_emulated},
    {kAllFields, "ud0, ud1: an exception in any case, and capstone has another length for them",
     [](const Case &given) {
         return is_one_of(given, {"ud0", "ud1"});
     }},
    {kAllFields, "a lock, 66, F2, F3 or REX prefix that makes it raise an exception",
     [](const Case &given) { return !given.zydis.bits64 && known_without_prefixes(given); }},
    {kAllFields, "a VEX, EVEX or XOP prefix with reserved values: an exception",
     [](const Case &given) { return !given.zydis.bits64 && encoding_of(given).vex; }},
    {kAllFields, "a segment, control, debug or bound register that is not there: an exception",
     [](const Case &given) { return !given.zydis.bits64 && names_special_register(given); }},
    {kAllFields, "67 before REX.W, which is 66 too for capstone 4.0; without 66 it does not exist",
     [](const Case &given) {
         return !given.zydis.bits64 && (encoding_of(given).rex & 8) != 0 &&
                std::ranges::find(given.bytes, 0x67) != given.bytes.end();
     }},
    {kAllFields, "3DNow! with a suffix that does not exist: an exception",
     [](const Case &given) {
         return !given.zydis.bits64 && encoding_of(given).map == OpcodeMap::x0f &&
                encoding_of(given).opcode == 0x0f;
     }},
    {kAllFields, "VIA's cryptography without rep: an exception, as QEMU does not emulate it",
     [](const Case &given) {
         const std::uint8_t opcode = encoding_of(given).opcode;
         return encoding_of(given).map == OpcodeMap::x0f && (opcode == 0xa6 || opcode == 0xa7);
     }},
    {kDecoded,
     "unknown to capstone, and in none of the files: its stores are recorded, and it is counted",
     [](const Case &given) { return !given.own.decoded && given.random; }},
    {kPrivileged, "lgdt, rsm and vmrun are privileged; Zydis does not say so",
     [](const Case &given) {
         return is_one_of(given, {"lgdt", "rsm", "vmrun"});
     }},
    {kFlush, "F3, then F2 before wbinvd: the last one counts; for Zydis it is any F3",
     [](const Case &given) { return is_one_of(given, {"wbinvd"}) && given.random; }},
    {kOperand, "67, REX.B and a SIB byte without a base register: Zydis takes r13 for the base",
     [](const Case &given) { return given.zydis.what.operand.base == 13 && given.random; }},
};

} // namespace

const std::span<const Explanation> kExplanations = kTable;

std::uint32_t differing_fields(const Instruction &zydis, const Instruction &own)
{
    if (zydis.decoded != own.decoded)
        return kDecoded;
    std::uint32_t fields = 0;
    const auto compare = [&](Field field, const auto &one, const auto &other) {
        if (one != other)
            fields |= field;
    };
    compare(kWrites, zydis.writes_memory, own.writes_memory);
    compare(kReads, zydis.reads_memory, own.reads_memory);
    compare(kNtStore, zydis.nt_store, own.nt_store);
    compare(kFlush, zydis.flush, own.flush);
    if (zydis.flush && own.flush)
        compare(kOperand, zydis.operand, own.operand);
    compare(kFence, zydis.fence, own.fence);
    compare(kLocked, zydis.locked, own.locked);
    if (zydis.flush || zydis.fence || zydis.changes_translation)
        compare(kPrivileged, zydis.privileged, own.privileged);
    compare(kTranslation, zydis.changes_translation, own.changes_translation);
    compare(kTranslation, zydis.cr3_source, own.cr3_source);
    compare(kStackPointer, zydis.stack_pointer_source, own.stack_pointer_source);
    compare(kStackPointer, zydis.loads_stack_pointer, own.loads_stack_pointer);
    compare(kSwapsBytes, zydis.swaps_bytes, own.swaps_bytes);
    compare(kTransfer, zydis.transfer, own.transfer);
    return fields;
}

std::string field_names(std::uint32_t fields)
{
    constexpr const char *kNames[] = {
        "decoded", "writes",     "reads",       "nt_store",      "flush",      "operand", "fence",
        "locked",  "privileged", "translation", "stack pointer", "byte order", "transfer"};
    std::string text;
    for (std::size_t i = 0; i < std::size(kNames); ++i)
        if (fields & 1u << i)
            text += std::string(text.empty() ? "" : ", ") + kNames[i];
    return text;
}

} // namespace fencepost::tracer
