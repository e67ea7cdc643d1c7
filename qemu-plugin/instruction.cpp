// SPDX-License-Identifier: GPL-2.0-or-later
// See instruction.h. Which event an instruction is follows from its opcode (opcodes.h); what it
// does to memory from its operands, which capstone tells. Capstone's ids, groups and operand
// accesses are not asked about events: 4.0 and 5.0 number instructions differently, and both call
// many stores reads (docs/explanation/capture.md, "The decoder").
#include "qemu-plugin/instruction.h"

#include <algorithm>

#include <capstone.h>
#include <xxhash.h>

#include "base/error.h"
#include "qemu-plugin/marker/fencepost_marker.h"

namespace fencepost::tracer {

namespace {

using trace::FenceKind;

constexpr std::size_t kKnown = 32768;

std::span<const cs_x86_op> operands_of(const cs_insn &found)
{
    return std::span(found.detail->x86.operands).first(found.detail->x86.op_count);
}

bool is_register(const cs_x86_op &operand, x86_reg wanted)
{
    return operand.type == X86_OP_REG && operand.reg == wanted;
}

std::uint8_t register_number(x86_reg reg)
{
    constexpr x86_reg kNumbers[][2] = {
        {X86_REG_RAX, X86_REG_EAX},  {X86_REG_RCX, X86_REG_ECX},  {X86_REG_RDX, X86_REG_EDX},
        {X86_REG_RBX, X86_REG_EBX},  {X86_REG_RSP, X86_REG_ESP},  {X86_REG_RBP, X86_REG_EBP},
        {X86_REG_RSI, X86_REG_ESI},  {X86_REG_RDI, X86_REG_EDI},  {X86_REG_R8, X86_REG_R8D},
        {X86_REG_R9, X86_REG_R9D},   {X86_REG_R10, X86_REG_R10D}, {X86_REG_R11, X86_REG_R11D},
        {X86_REG_R12, X86_REG_R12D}, {X86_REG_R13, X86_REG_R13D}, {X86_REG_R14, X86_REG_R14D},
        {X86_REG_R15, X86_REG_R15D}};
    for (std::uint8_t number = 0; number < std::size(kNumbers); ++number)
        if (reg == kNumbers[number][0] || reg == kNumbers[number][1])
            return number;
    return kNoRegister;
}

MemoryOperand operand_of(const cs_insn &found, const x86_op_mem &memory)
{
    MemoryOperand operand;
    operand.base = register_number(memory.base);
    operand.index = register_number(memory.index);
    operand.scale =
        operand.index == kNoRegister ? std::uint8_t{0} : static_cast<std::uint8_t>(memory.scale);
    operand.address_bits = static_cast<std::uint8_t>(found.detail->x86.addr_size * 8);
    operand.segment = memory.segment == X86_REG_FS   ? Segment::fs
                      : memory.segment == X86_REG_GS ? Segment::gs
                                                     : Segment::flat;
    operand.rip_relative = memory.base == X86_REG_RIP || memory.base == X86_REG_EIP;
    operand.displacement = memory.disp;
    return operand;
}

// Stacks, per-CPU and thread-local data, and variables of the program's own are never PM. Leaving
// them out here makes most callbacks unnecessary; were it ever wrong, the completeness check would
// show it.
bool may_be_pm(const x86_op_mem &memory)
{
    switch (memory.base) {
    case X86_REG_RSP:
    case X86_REG_ESP:
    case X86_REG_RIP:
        return false;
    default:
        return memory.segment != X86_REG_GS && memory.segment != X86_REG_FS;
    }
}

// Of those whose first operand can be memory, the ones that do not write to it. What is not listed
// may write.
bool only_reads(const cs_insn &found, const Encoding &encoding)
{
    switch (found.id) {
    case X86_INS_BT:
    case X86_INS_CMP:
    case X86_INS_DIV:
    case X86_INS_FILD:
    case X86_INS_FLD:
    case X86_INS_IDIV:
    case X86_INS_IMUL:
    case X86_INS_JMP:
    case X86_INS_LDMXCSR:
    case X86_INS_MUL:
    case X86_INS_PREFETCHNTA:
    case X86_INS_PREFETCHT0:
    case X86_INS_PREFETCHT1:
    case X86_INS_PREFETCHT2:
    case X86_INS_PREFETCHW:
    case X86_INS_PUSH:
    case X86_INS_TEST:
        return true;
    case X86_INS_NOP: // capstone 4.0 takes bndmov and others for one
        return encoding.opcode == 0x1f;
    default:
        return false;
    }
}

// `writes_memory`: PM or not.
void note_lock(const Encoding &encoding, bool writes_memory, Instruction &result)
{
    result.locked = writes_memory && (encoding.lock || result.fence == FenceKind::xchg);
    if (result.locked && !result.fence)
        result.fence = FenceKind::lock_rmw;
}

// `known`: what its opcode says, or nothing.
void note_memory(const cs_insn &found, const Encoding &encoding, const KnownOpcode *known,
                 Instruction &result)
{
    const std::span operands = operands_of(found);
    bool writes_anything = false;
    for (const cs_x86_op &operand : operands) {
        if (operand.type != X86_OP_MEM || found.id == X86_INS_LEA)
            continue;
        if (result.flush) {
            result.operand = operand_of(found, operand.mem);
            return;
        }
        // Intel's syntax has the target first.
        const bool written = known ? known->effects.writes
                                   : &operand == operands.data() && !only_reads(found, encoding);
        writes_anything |= written;
        result.writes_memory |= written && may_be_pm(operand.mem);
        result.reads_memory |= may_be_pm(operand.mem);
    }
    // Those that write to where a register points, which is none of the operands.
    if (result.nt_store == trace::NtStoreKind::maskmov ||
        result.nt_store == trace::NtStoreKind::movdir)
        result.writes_memory = true;
    if (found.id == X86_INS_LEAVE || found.id == X86_INS_XLATB)
        result.reads_memory = true;
    note_lock(encoding, writes_anything, result);
}

// `mov rsp, rbp` ends a function and only frees what it allocated.
void note_stack_pointer(const cs_insn &found, Instruction &result)
{
    const std::span operands = operands_of(found);
    if (found.id != X86_INS_MOV || operands.size() != 2 || !is_register(operands[0], X86_REG_RSP))
        return;
    const cs_x86_op &source = operands[1];
    if (source.type == X86_OP_MEM)
        result.loads_stack_pointer = true;
    else if (source.type == X86_OP_REG && source.reg != X86_REG_RBP)
        result.stack_pointer_source = register_number(source.reg);
}

void note_control_register(const Encoding &encoding, Instruction &result)
{
    if (encoding.map != OpcodeMap::x0f || encoding.opcode != 0x22 || encoding.vex)
        return;
    if (encoding.reg() == 3)
        result.cr3_source = encoding.rm();
    if (encoding.reg() == 8) // the only one that does not serialise
        result.fence.reset();
}

// Whether an opcode says enough where capstone does not know the instruction, which it does in the
// primary map. A flush is nothing without its operand.
bool stands_alone(const KnownOpcode &known, const Encoding &encoding)
{
    return encoding.map != OpcodeMap::primary && !known.effects.flush;
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

} // namespace

Decoder::Decoder()
{
    int major = 0;
    int minor = 0;
    cs_version(&major, &minor);
    if (major != CS_API_MAJOR)
        fail(ErrorKind::guest,
             "this QEMU uses capstone {}, and fencepost was built with capstone {}: build it again "
             "with the one that QEMU uses",
             major, CS_API_MAJOR);
    for (const CodeMode mode : {CodeMode::bits64, CodeMode::bits32}) {
        std::size_t &handle = handles_[static_cast<std::size_t>(mode)];
        if (cs_open(CS_ARCH_X86, mode == CodeMode::bits64 ? CS_MODE_64 : CS_MODE_32, &handle) !=
            CS_ERR_OK)
            fail(ErrorKind::guest, "capstone cannot decode x86");
        cs_option(handle, CS_OPT_DETAIL, CS_OPT_ON);
    }
    found_ = cs_malloc(handles_[0]);
    // Capstone fills tables of the process when it first decodes something.
    constexpr std::uint8_t kNop[] = {0x90};
    find(kNop, 0);
}

Decoder::~Decoder()
{
    cs_free(found_, 1);
    for (std::size_t &handle : handles_)
        cs_close(&handle);
}

bool Decoder::find_in(CodeMode mode, std::span<const std::uint8_t> bytes, std::uint64_t pc)
{
    const std::vector<std::uint8_t> usual = with_usual_prefixes(mode, bytes);
    const std::uint8_t *code = usual.data();
    std::size_t left = usual.size();
    std::uint64_t address = pc + bytes.size() - usual.size(); // its end is what operands refer to
    mode_ = mode;
    return cs_disasm_iter(handles_[static_cast<std::size_t>(mode)], &code, &left, &address,
                          found_) &&
           left == 0;
}

// A 32-bit program mostly shows itself by instructions that have another length in 64-bit code. A
// VEX or EVEX instruction that capstone does not know must not become a bound or les, which only
// read.
bool Decoder::find(std::span<const std::uint8_t> bytes, std::uint64_t pc)
{
    if (find_in(CodeMode::bits64, bytes, pc))
        return true;
    return !read_encoding(CodeMode::bits64, bytes).vex && find_in(CodeMode::bits32, bytes, pc);
}

Instruction Decoder::decode(std::span<const std::uint8_t> bytes)
{
    if (bytes.size() > kMaxInstructionBytes)
        return {};
    // Its displacement is another one nearly each time, and there is nothing to ask capstone.
    if (is_direct_branch(bytes))
        return {.decoded = true,
                .length = static_cast<std::uint8_t>(bytes.size()),
                .transfer = bytes[0] == 0xe8 ? Transfer::call : Transfer::none};
    if (known_.empty())
        known_.resize(kKnown);
    Known &known = known_[XXH3_64bits(bytes.data(), bytes.size()) % kKnown];
    if (known.what.length != bytes.size() ||
        !std::equal(bytes.begin(), bytes.end(), known.bytes.begin())) {
        known.what = decode_new(bytes);
        std::copy(bytes.begin(), bytes.end(), known.bytes.begin());
    }
    return known.what;
}

Instruction Decoder::decode_new(std::span<const std::uint8_t> bytes)
{
    Instruction result;
    result.length = static_cast<std::uint8_t>(bytes.size());
    const bool found = find(bytes, 0);
    if (!found)
        mode_ = CodeMode::bits64;
    const Encoding encoding = read_encoding(mode_, bytes);
    const KnownOpcode *known = find_opcode(encoding);
    if (!found && !(known && stands_alone(*known, encoding) && encoding.size <= bytes.size()))
        return result;
    result.decoded = true;
    result.marker = is_marker(bytes);
    if (known) {
        result.nt_store = known->effects.nt_store;
        result.flush = known->effects.flush;
        result.fence = known->effects.fence;
        result.transfer = known->effects.transfer;
        result.changes_translation = known->effects.changes_translation;
        result.privileged = known->effects.privileged;
        result.swaps_bytes = known->effects.swaps_bytes;
    }
    note_control_register(encoding, result);
    if (found) {
        note_stack_pointer(*found_, result);
        note_memory(*found_, encoding, known, result);
    } else {
        result.writes_memory = known->effects.writes;
        result.reads_memory = encoding.names_memory();
    }
    return result;
}

std::string Decoder::disassemble(std::span<const std::uint8_t> bytes, std::uint64_t pc)
{
    if (!find(bytes, pc)) {
        const KnownOpcode *known = find_opcode(read_encoding(CodeMode::bits64, bytes));
        return known ? known->name : "(bad)";
    }
    std::string text = found_->mnemonic;
    if (found_->op_str[0] != '\0')
        text += std::string(" ") + found_->op_str;
    return text;
}

} // namespace fencepost::tracer
