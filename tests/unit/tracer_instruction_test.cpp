// SPDX-License-Identifier: GPL-2.0-or-later
// What the tracer makes of an instruction's bytes.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "qemu-plugin/instruction.h"

namespace fencepost::tracer {
namespace {

using trace::FenceKind;
using trace::FlushKind;
using trace::NtStoreKind;
using Bytes = std::vector<std::uint8_t>;

// What is said of an instruction, in a word: the first of these that holds.
std::string class_of(const Instruction &what)
{
    if (!what.decoded)
        return "undecodable";
    if (what.marker)
        return "marker";
    if (what.flush)
        return fmt::format("flush {}", trace::subkind_name(trace::EventKind::flush,
                                                           static_cast<std::uint8_t>(*what.flush)));
    std::string text;
    if (what.nt_store)
        text = fmt::format("nt_store {}",
                           trace::subkind_name(trace::EventKind::nt_store,
                                               static_cast<std::uint8_t>(*what.nt_store)));
    else if (what.writes_memory)
        text = "store";
    if (what.fence)
        text += fmt::format(
            "{}fence {}", text.empty() ? "" : " + ",
            trace::subkind_name(trace::EventKind::fence, static_cast<std::uint8_t>(*what.fence)));
    if (what.transfer != Transfer::none && text.empty())
        text = "transfer";
    return text.empty() ? "nothing" : text;
}

struct Case {
    Bytes bytes;
    const char *text; // as disassembled; only the first word is compared
    const char *expected;
};

const Case kCases[] = {
    {{0x48, 0x89, 0x07}, "mov [rdi], rax", "store"},
    {{0x88, 0x04, 0x31}, "mov [rcx+rsi*1], al", "store"},
    {{0x48, 0x8b, 0x07}, "mov rax, [rdi]", "nothing"},
    {{0x48, 0x8d, 0x07}, "lea rax, [rdi]", "nothing"},
    {{0x48, 0x01, 0x07}, "add [rdi], rax", "store"},
    {{0x8f, 0x07}, "pop qword ptr [rdi]", "store"},
    {{0xf3, 0x48, 0xab}, "rep stosq", "store"},
    {{0xa4}, "movsb", "store"},
    {{0x0f, 0xae, 0x07}, "fxsave", "store"},
    {{0x48, 0x0f, 0xae, 0x27}, "xsave64", "store"},
    {{0x48, 0x0f, 0xc7, 0x0f}, "cmpxchg16b", "store"},
    {{0xc5, 0xfe, 0x7f, 0x07}, "vmovdqu [rdi], ymm0", "store"},
    {{0xc4, 0xe2, 0x71, 0x8e, 0x07}, "vpmaskmovd [rdi], xmm1, xmm0", "store"},
    // Stores that capstone takes for loads.
    {{0x0f, 0x11, 0x07}, "movups [rdi], xmm0", "store"},
    {{0x66, 0x0f, 0xd6, 0x07}, "movq [rdi], xmm0", "store"},
    {{0x66, 0x0f, 0x3a, 0x14, 0x07, 0x01}, "pextrb [rdi], xmm0, 1", "store"},
    {{0xc4, 0xe3, 0x7d, 0x19, 0x07, 0x01}, "vextractf128 [rdi], ymm0, 1", "store"},
    {{0x0f, 0x92, 0x07}, "setb [rdi]", "store"},
    {{0x48, 0x0f, 0xb1, 0x0f}, "cmpxchg [rdi], rcx", "store"},
    {{0xd0, 0x07}, "rol byte ptr [rdi], 1", "store"},
    {{0xdd, 0x1f}, "fstp qword ptr [rdi]", "store"},
    {{0x0f, 0xae, 0x1f}, "stmxcsr [rdi]", "store"},
    {{0xf3, 0x6c}, "rep insb [rdi], dx", "store"},
    {{0x66, 0x0f, 0x1b, 0x07}, "", "store"},    // bndmov [rdi], bnd0, which 4.0 takes for a nop
    {{0x64, 0xaa}, "stosb [rdi], al", "store"}, // a segment prefix is for the source of a string
    {{0x65, 0xa4}, "movsb [rdi], gs:[rsi]", "store"},
    {{0xa2, 1, 2, 3, 4, 5, 6, 7, 8}, "movabs [0x807060504030201], al", "store"},
    {{0x67, 0x48, 0x0f, 0xae, 0x37}, "", "store"}, // xsaveopt64 [edi]; for 4.0 with 66
    // Loads with memory as their first operand.
    {{0x38, 0x07}, "cmp byte ptr [rdi], al", "nothing"},
    {{0xf6, 0x07, 0x01}, "test byte ptr [rdi], 1", "nothing"},
    {{0xff, 0x37}, "push qword ptr [rdi]", "nothing"},
    {{0xff, 0x27}, "jmp qword ptr [rdi]", "nothing"},
    {{0xff, 0x17}, "call qword ptr [rdi]", "transfer"},
    // Never PM, so nothing to record.
    {{0x50}, "push rax", "nothing"},
    {{0x48, 0x89, 0x44, 0x24, 0x08}, "mov [rsp+0x08], rax", "nothing"},
    {{0x65, 0x48, 0x89, 0x04, 0x25, 0x10, 0, 0, 0}, "mov gs:[0x10], rax", "nothing"},
    {{0x64, 0x89, 0x00}, "mov fs:[rax], eax", "nothing"},
    {{0x48, 0x89, 0x05, 0x10, 0, 0, 0}, "mov [0x1017], rax", "nothing"},
    // Non-temporal.
    {{0x48, 0x0f, 0xc3, 0x07}, "movnti", "nt_store movnt"},
    {{0x0f, 0xe7, 0x07}, "movntq", "nt_store movnt"},
    {{0x66, 0x0f, 0xe7, 0x07}, "movntdq", "nt_store movnt"},
    {{0x0f, 0x2b, 0x07}, "movntps", "nt_store movnt"},
    {{0x66, 0x0f, 0x2b, 0x07}, "movntpd", "nt_store movnt"},
    {{0xf3, 0x0f, 0x2b, 0x07}, "movntss", "nt_store movnt"},
    {{0xc5, 0xf9, 0xe7, 0x07}, "vmovntdq [rdi], xmm0", "nt_store movnt"},
    {{0xc5, 0xfd, 0xe7, 0x07}, "vmovntdq [rdi], ymm0", "nt_store movnt"},
    {{0x62, 0xf1, 0x7d, 0x48, 0xe7, 0x07}, "vmovntdq zmmword ptr [rdi], zmm0", "nt_store movnt"},
    {{0xc5, 0xfc, 0x2b, 0x07}, "vmovntps", "nt_store movnt"},
    {{0xc5, 0xfd, 0x2b, 0x07}, "vmovntpd", "nt_store movnt"},
    {{0x66, 0x0f, 0xf7, 0xc1}, "maskmovdqu", "nt_store maskmov"},
    {{0xc5, 0xf9, 0xf7, 0xc1}, "vmaskmovdqu", "nt_store maskmov"},
    {{0x0f, 0xf7, 0xc1}, "maskmovq", "nt_store maskmov"},
    {{0x48, 0x0f, 0x38, 0xf9, 0x07}, "movdiri", "nt_store movdir"},
    {{0x66, 0x0f, 0x38, 0xf8, 0x07}, "movdir64b", "nt_store movdir"},
    {{0x66, 0x0f, 0x38, 0x2a, 0x07}, "movntdqa xmm0", "nothing"}, // a load
    {{0x66, 0x2e, 0x0f, 0xe7, 0x07}, "movntdq", "nt_store movnt"},
    {{0xf2, 0x41, 0x66, 0x0f, 0x2b, 0x07}, "movntsd", "nt_store movnt"},
    // Flushes.
    {{0x0f, 0xae, 0x3f}, "clflush", "flush clflush"},
    {{0x66, 0x0f, 0xae, 0x3f}, "clflushopt", "flush clflushopt"},
    {{0x66, 0x0f, 0xae, 0x37}, "clwb", "flush clwb"},
    {{0x66, 0x67, 0x0f, 0xae, 0x37}, "clwb", "flush clwb"},
    {{0x66, 0x48, 0x65, 0x0f, 0xae, 0x3f}, "clflushopt", "flush clflushopt"},
    {{0x67, 0x48, 0x0f, 0xae, 0x3f}, "", "flush clflush"}, // 4.0 takes it for one with 66
    {{0x0f, 0x09}, "wbinvd", "flush wbinvd"},
    {{0xf3, 0x0f, 0x09}, "", "flush wbnoinvd"},
    // Fences.
    {{0x0f, 0xae, 0xf8}, "sfence", "fence sfence"},
    {{0x0f, 0xae, 0xff}, "sfence", "fence sfence"}, // as good as f8
    {{0x0f, 0xae, 0xf0}, "mfence", "fence mfence"},
    {{0xf3, 0x0f, 0xae, 0xf0}, "", "nothing"}, // umonitor, which 4.0 takes for mfence
    {{0x0f, 0xae, 0xe8}, "lfence", "fence lfence"},
    {{0x0f, 0xa2}, "cpuid", "fence cpuid"},
    {{0x48, 0xcf}, "iretq", "fence iret"},
    {{0x0f, 0x01, 0xe8}, "serialize", "fence serialize"},
    {{0x0f, 0x22, 0xd8}, "mov cr3, rax", "fence other_serialising"},
    {{0x44, 0x0f, 0x22, 0xc0}, "mov cr8, rax", "nothing"},
    {{0x0f, 0x23, 0xf8}, "mov dr7, rax", "fence other_serialising"},
    {{0x0f, 0x30}, "wrmsr", "fence other_serialising"},
    {{0x0f, 0x01, 0x38}, "invlpg", "fence other_serialising"},
    {{0xf0, 0x48, 0x01, 0x07}, "lock add", "store + fence lock_rmw"},
    {{0xf0, 0x83, 0x04, 0x24, 0x00}, "lock add", "fence lock_rmw"}, // of the stack
    {{0x48, 0x87, 0x07}, "xchg", "store + fence xchg"},
    {{0xf0, 0x87, 0x07}, "lock xchg", "store + fence xchg"},
    {{0x48, 0x87, 0xc3}, "xchg", "nothing"},    // two registers
    {{0x87, 0x04, 0x24}, "xchg", "fence xchg"}, // of the stack
    {{0xf2, 0xf0, 0x48, 0xff, 0x07}, "lock inc", "store + fence lock_rmw"},
    {{0xf0, 0x48, 0x0f, 0xc7, 0x0f}, "lock cmpxchg16b", "store + fence lock_rmw"},
    // Everything else.
    {{0x90}, "nop", "nothing"},
    {{0x0f, 0x1f, 0x84, 0x00, 0x6b, 0x6d, 0x70, 0x66}, "nop", "marker"},
    {{0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00}, "nop", "nothing"},
    {{0xe8, 0, 0, 0, 0}, "call", "transfer"},
    {{0xc3}, "ret", "transfer"},
    {{0x0f, 0x05}, "syscall", "transfer"},
    {{0x48, 0x0f, 0x07}, "sysret", "transfer"},
    {{0x66, 0x66, 0x48, 0xe8, 0, 0, 0, 0}, "call 0x1008", "transfer"},
    {{0x66, 0xe8, 0, 0, 0, 0}, "call 0x1006", "transfer"},
    {{0x66, 0x0f, 0x84, 0, 0, 0, 0}, "je 0x1007", "nothing"},
    {{0xf3, 0xc3}, "", "transfer"},
    // Unknown to capstone 4.0.
    {{0x0f, 0x01, 0xef}, "wrpkru", "nothing"},
    {{0xf3, 0x48, 0x0f, 0x1e, 0xc8}, "rdssp", "nothing"},
    {{0x0f, 0x0d, 0x10}, "prefetch", "nothing"},
    {{0x06}, "push es", "nothing"}, // 32-bit code
    {{0x0f, 0x04}, "(bad)", "undecodable"},
    {{0x48, 0x89}, "(bad)", "undecodable"}, // half of one
    {{0x0f, 0xae, 0x7f}, "", "undecodable"},
    {{0x0f, 0x2b}, "", "undecodable"},
    {{0x48, 0xe8, 0, 0}, "", "undecodable"},
    // An EVEX instruction that does not exist; as 32-bit code it would be a bound.
    {{0x62, 0x82, 0x99, 0xe7, 0x50, 0xea}, "(bad)", "undecodable"},
};

TEST(Decode, TellsWhatATraceRecords)
{
    Decoder decoder;
    for (const Case &given : kCases) {
        const std::string text = decoder.disassemble(given.bytes, 0x1000);
        EXPECT_TRUE(text.starts_with(
            std::string_view(given.text).substr(0, std::string_view(given.text).find(' '))))
            << text << " for " << given.text;
        EXPECT_EQ(class_of(decoder.decode(given.bytes)), given.expected) << text;
    }
}

TEST(Decode, SpellsInstructionsOut)
{
    Decoder decoder;
    EXPECT_EQ(decoder.disassemble(Bytes{0x48, 0x89, 0x47, 0x08}, 0x1000),
              "mov qword ptr [rdi + 8], rax");
    EXPECT_EQ(decoder.disassemble(Bytes{0x66, 0x66, 0x48, 0xe8, 0, 0, 0, 0}, 0x1000),
              "call 0x1008");
    EXPECT_EQ(decoder.disassemble(Bytes{0x66, 0x67, 0x0f, 0xae, 0x37}, 0x1000),
              "clwb byte ptr [edi]");
}

TEST(Decode, FindsTheOperandOfAFlush)
{
    Decoder decoder;
    // clwb [r9+rbx*4-0x80]
    const MemoryOperand operand =
        decoder.decode(Bytes{0x66, 0x41, 0x0f, 0xae, 0x74, 0x99, 0x80}).operand;
    EXPECT_EQ(operand.base, 9);
    EXPECT_EQ(operand.index, 3);
    EXPECT_EQ(operand.scale, 4);
    EXPECT_EQ(operand.displacement, -0x80);
    EXPECT_EQ(operand.address_bits, 64);
    EXPECT_FALSE(operand.rip_relative);
    // clflush gs:[eax]
    const MemoryOperand small = decoder.decode(Bytes{0x65, 0x67, 0x0f, 0xae, 0x38}).operand;
    EXPECT_EQ(small.address_bits, 32);
    EXPECT_EQ(small.segment, Segment::gs);
    EXPECT_EQ(small.base, 0);
    EXPECT_EQ(small.index, kNoRegister);
    // clflushopt [rip+0x10]
    const MemoryOperand relative =
        decoder.decode(Bytes{0x66, 0x0f, 0xae, 0x3d, 0x10, 0, 0, 0}).operand;
    EXPECT_TRUE(relative.rip_relative);
    EXPECT_EQ(relative.displacement, 0x10);
    EXPECT_EQ(relative.base, kNoRegister);
}

TEST(Decode, KeepsManyInstructionsApart)
{
    Decoder decoder;
    for (int round = 0; round < 2; ++round)
        for (unsigned i = 0; i < 50'000; ++i) {
            const auto low = static_cast<std::uint8_t>(i);
            const auto high = static_cast<std::uint8_t>(i >> 8);
            const Bytes store = {0xc7, 0x07, low, high, 0, 0};   // mov dword ptr [rdi], i
            const Bytes compare = {0x81, 0x3f, low, high, 0, 0}; // cmp dword ptr [rdi], i
            ASSERT_TRUE(decoder.decode(store).writes_memory) << i;
            ASSERT_FALSE(decoder.decode(compare).writes_memory) << i;
        }
    EXPECT_FALSE(decoder.decode(Bytes(16, 0x66)).decoded) << "no instruction is that long";
}

TEST(Encoding, IgnoresWhatAProcessorIgnores)
{
    // popcnt r8w, ax: 66 and F3 both count, a REX only right before the opcode, the last segment.
    const Bytes odd = {0xf3, 0x48, 0x64, 0x2e, 0x66, 0x65, 0x66, 0x44, 0x0f, 0xb8, 0xc0};
    const Bytes usual = {0x65, 0x66, 0xf3, 0x44, 0x0f, 0xb8, 0xc0};
    EXPECT_EQ(with_usual_prefixes(CodeMode::bits64, odd), usual);
    EXPECT_EQ(with_usual_prefixes(CodeMode::bits64, usual), usual);
    const Encoding encoding = read_encoding(CodeMode::bits64, odd);
    EXPECT_EQ(encoding.prefix, 0xf3);
    EXPECT_EQ(encoding.opcode, 0xb8);
    EXPECT_EQ(encoding.reg(), 8);
    // In 32-bit code 48 is an instruction.
    EXPECT_EQ(read_encoding(CodeMode::bits32, Bytes{0x48}).opcode, 0x48);
}

TEST(Decode, KnowsWhatChangesTranslations)
{
    Decoder decoder;
    for (const Bytes &bytes :
         {Bytes{0x0f, 0x22, 0xd8}, Bytes{0x0f, 0x22, 0xc0}, Bytes{0x0f, 0x22, 0xe0},
          Bytes{0x0f, 0x01, 0x38}, Bytes{0x66, 0x0f, 0x38, 0x82, 0x00}, Bytes{0x0f, 0x30}}) {
        const Instruction what = decoder.decode(bytes);
        EXPECT_TRUE(what.changes_translation) << decoder.disassemble(bytes, 0);
        EXPECT_TRUE(what.privileged) << decoder.disassemble(bytes, 0);
    }
    EXPECT_FALSE(decoder.decode(Bytes{0x48, 0x89, 0x07}).changes_translation);
    EXPECT_EQ(decoder.decode(Bytes{0x41, 0x0f, 0x22, 0xdc}).cr3_source, 12); // mov cr3, r12
    EXPECT_EQ(decoder.decode(Bytes{0x0f, 0x22, 0xc0}).cr3_source, kNoRegister);
}

TEST(Decode, SeesWhereTheStackPointerIsSet)
{
    Decoder decoder;
    EXPECT_EQ(decoder.decode(Bytes{0x4c, 0x89, 0xc4}).stack_pointer_source, 8); // mov rsp, r8
    EXPECT_TRUE(decoder.decode(Bytes{0x48, 0x8b, 0x27}).loads_stack_pointer);   // mov rsp, [rdi]
    EXPECT_EQ(decoder.decode(Bytes{0x48, 0x89, 0xec}).stack_pointer_source,
              kNoRegister); // mov rsp, rbp
}

TEST(Decode, MarksWhatSwapsBytes)
{
    Decoder decoder;
    EXPECT_TRUE(decoder.decode(Bytes{0x48, 0x0f, 0x38, 0xf1, 0x07}).swaps_bytes); // movbe
    EXPECT_FALSE(decoder.decode(Bytes{0x48, 0x89, 0x07}).swaps_bytes);
}

} // namespace
} // namespace fencepost::tracer
