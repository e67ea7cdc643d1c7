// SPDX-License-Identifier: GPL-2.0-or-later
// See opcodes.h. The manual is Intel's, volume 2 (opcode map) and volume 3 (8.3, serialising
// instructions).
#include "qemu-plugin/opcodes.h"

#include <algorithm>

namespace fencepost::tracer {

namespace {

using trace::FenceKind;
using trace::FlushKind;
using trace::NtStoreKind;
using enum OpcodeMap;

// Which 66, F2 and F3 an instruction may have; others would make it another one.
enum PrefixSet : std::uint8_t { kNone = 1, k66 = 2, kF2 = 4, kF3 = 8, kAny = 15 };
enum class Form : std::uint8_t { any, memory, registers };
constexpr std::uint8_t kAnyReg = 0xff;

struct Row {
    OpcodeMap map;
    std::uint8_t opcode;
    std::uint8_t prefixes;
    std::uint8_t reg; // of the ModR/M byte; or all of it where there is no other operand
    Form form;
    KnownOpcode known;
    bool vex = false; // also as VEX and EVEX

    bool matches(const Encoding &encoding) const;
};

constexpr OpcodeEffects kMovnt = {.nt_store = NtStoreKind::movnt, .writes = true};
constexpr OpcodeEffects kMaskmov = {.nt_store = NtStoreKind::maskmov, .writes = true};
constexpr OpcodeEffects kMovdir = {.nt_store = NtStoreKind::movdir, .writes = true};
constexpr OpcodeEffects kMovbe = {.swaps_bytes = true, .writes = true};
constexpr OpcodeEffects kCall = {.transfer = Transfer::call};
constexpr OpcodeEffects kRet = {.transfer = Transfer::ret};
constexpr OpcodeEffects kXchg = {.fence = FenceKind::xchg, .writes = true};
constexpr OpcodeEffects kSerialising = {.fence = FenceKind::other_serialising, .privileged = true};
constexpr OpcodeEffects kSerialisingTranslation = {
    .fence = FenceKind::other_serialising, .changes_translation = true, .privileged = true};
constexpr OpcodeEffects kTranslation = {.changes_translation = true, .privileged = true};

constexpr Row kRows[] = {
    // vmaskmovps and vpmaskmovd are ordinary stores in spite of their names.
    {x0f, 0x2b, kAny, kAnyReg, Form::memory, {"movntps", kMovnt}, true}, // also pd, ss, sd
    {x0f, 0xc3, kAny, kAnyReg, Form::memory, {"movnti", kMovnt}},
    {x0f, 0xe7, kAny, kAnyReg, Form::memory, {"movntdq", kMovnt}, true},         // also movntq
    {x0f, 0xf7, kAny, kAnyReg, Form::registers, {"maskmovdqu", kMaskmov}, true}, // also maskmovq
    {x0f38, 0xf8, k66, kAnyReg, Form::memory, {"movdir64b", kMovdir}},
    {x0f38, 0xf9, kNone, kAnyReg, Form::memory, {"movdiri", kMovdir}},
    {x0f38, 0xf1, kNone | k66, kAnyReg, Form::memory, {"movbe", kMovbe}},

    {x0f, 0xae, kNone, 7, Form::memory, {"clflush", {.flush = FlushKind::clflush}}},
    {x0f, 0xae, k66, 7, Form::memory, {"clflushopt", {.flush = FlushKind::clflushopt}}},
    {x0f, 0xae, k66, 6, Form::memory, {"clwb", {.flush = FlushKind::clwb}}},
    {x0f,
     0x09,
     kNone | k66 | kF2,
     kAnyReg,
     Form::any,
     {"wbinvd", {.flush = FlushKind::wbinvd, .privileged = true}}},
    {x0f,
     0x09,
     kF3,
     kAnyReg,
     Form::any,
     {"wbnoinvd", {.flush = FlushKind::wbnoinvd, .privileged = true}}},

    {x0f, 0xae, kNone, 5, Form::registers, {"lfence", {.fence = FenceKind::lfence}}},
    {x0f, 0xae, kNone, 6, Form::registers, {"mfence", {.fence = FenceKind::mfence}}},
    {x0f, 0xae, kNone, 7, Form::registers, {"sfence", {.fence = FenceKind::sfence}}},
    {primary, 0x86, kAny, kAnyReg, Form::memory, {"xchg", kXchg}},
    {primary, 0x87, kAny, kAnyReg, Form::memory, {"xchg", kXchg}},
    {x0f, 0xa2, kAny, kAnyReg, Form::any, {"cpuid", {.fence = FenceKind::cpuid}}},
    {x0f, 0x01, kNone, 0xe8, Form::any, {"serialize", {.fence = FenceKind::serialize}}},
    {primary,
     0xcf,
     kAny,
     kAnyReg,
     Form::any,
     {"iret", {.fence = FenceKind::iret, .transfer = Transfer::iret}}},
    {x0f, 0x00, kAny, 2, Form::any, {"lldt", kSerialising}},
    {x0f, 0x00, kAny, 3, Form::any, {"ltr", kSerialising}},
    {x0f, 0x01, kAny, 2, Form::memory, {"lgdt", kSerialising}},
    {x0f, 0x01, kAny, 3, Form::memory, {"lidt", kSerialising}},
    {x0f, 0x01, kAny, 7, Form::memory, {"invlpg", kSerialisingTranslation}},
    {x0f, 0x08, kAny, kAnyReg, Form::any, {"invd", kSerialising}},
    {x0f, 0x22, kAny, kAnyReg, Form::any, {"mov cr", kSerialisingTranslation}},
    {x0f, 0x23, kAny, kAnyReg, Form::any, {"mov dr", kSerialising}},
    {x0f, 0x30, kAny, kAnyReg, Form::any, {"wrmsr", kSerialisingTranslation}},
    {x0f, 0xaa, kAny, kAnyReg, Form::any, {"rsm", kSerialisingTranslation}},
    {x0f38, 0x80, k66, kAnyReg, Form::memory, {"invept", kSerialising}},
    {x0f38, 0x81, k66, kAnyReg, Form::memory, {"invvpid", kSerialising}},
    {x0f38, 0x82, k66, kAnyReg, Form::memory, {"invpcid", kSerialisingTranslation}},
    {x0f, 0x01, kAny, 6, Form::any, {"lmsw", kTranslation}},
    {x0f, 0x01, kAny, 0xd8, Form::any, {"vmrun", kTranslation}},
    {x0f, 0x01, kAny, 0xdf, Form::any, {"invlpga", kTranslation}},

    {primary, 0xe8, kAny, kAnyReg, Form::any, {"call", kCall}},
    {primary, 0x9a, kAny, kAnyReg, Form::any, {"call", kCall}},
    {primary, 0xff, kAny, 2, Form::any, {"call", kCall}},
    {primary, 0xff, kAny, 3, Form::memory, {"call", kCall}},
    {primary, 0xc2, kAny, kAnyReg, Form::any, {"ret", kRet}},
    {primary, 0xc3, kAny, kAnyReg, Form::any, {"ret", kRet}},
    {primary, 0xca, kAny, kAnyReg, Form::any, {"ret", kRet}},
    {primary, 0xcb, kAny, kAnyReg, Form::any, {"ret", kRet}},
    {x0f, 0x05, kAny, kAnyReg, Form::any, {"syscall", {.transfer = Transfer::syscall}}},
    {x0f,
     0x07,
     kAny,
     kAnyReg,
     Form::any,
     {"sysret", {.transfer = Transfer::sysret, .privileged = true}}},

    // No events, but unknown to capstone 4.0, and QEMU executes them.
    {x0f, 0x01, kNone, 0xee, Form::any, {"rdpkru", {}}},
    {x0f, 0x01, kNone, 0xef, Form::any, {"wrpkru", {}}},
    {x0f, 0x0d, kAny, kAnyReg, Form::any, {"prefetch", {}}},
    {x0f, 0x1e, kAny, kAnyReg, Form::registers, {"rdssp", {}}}, // or another reserved nop
    {x0f38, 0x5a, k66, kAnyReg, Form::memory, {"vbroadcasti128", {}}, true},
    {x0f38, 0xdc, k66, kAnyReg, Form::any, {"vaesenc", {}}, true},
    {x0f38, 0xdd, k66, kAnyReg, Form::any, {"vaesenclast", {}}, true},
    {x0f38, 0xde, k66, kAnyReg, Form::any, {"vaesdec", {}}, true},
    {x0f38, 0xdf, k66, kAnyReg, Form::any, {"vaesdeclast", {}}, true},
};

bool Row::matches(const Encoding &encoding) const
{
    const std::uint8_t prefix = encoding.prefix == 0x66   ? k66
                                : encoding.prefix == 0xf2 ? kF2
                                : encoding.prefix == 0xf3 ? kF3
                                                          : kNone;
    if (encoding.opcode != opcode || encoding.map != map || !(prefixes & prefix) ||
        (encoding.vex && !vex))
        return false;
    if (form != Form::any && (form == Form::memory) != encoding.names_memory())
        return false;
    return reg == kAnyReg || (reg < 8 ? reg == encoding.modrm_reg() : reg == encoding.modrm);
}

} // namespace

const KnownOpcode *find_opcode(const Encoding &encoding)
{
    const auto *row =
        std::ranges::find_if(kRows, [&](const Row &each) { return each.matches(encoding); });
    return row == std::end(kRows) ? nullptr : &row->known;
}

} // namespace fencepost::tracer
