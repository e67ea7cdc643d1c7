// SPDX-License-Identifier: GPL-2.0-or-later
// Registers and memory of the guest, as QEMU lets a plugin read them from within a callback.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "qemu-plugin/guest_memory.h"
#include "qemu-plugin/instruction.h"
#include "qemu-plugin/page_walk.h"
#include "qemu-plugin/qemu_plugin_api.h"

namespace fencepost::tracer {

// General registers come first, by the number that encodings use.
enum Register : std::uint8_t {
    kRax,
    kRcx,
    kRdx,
    kRbx,
    kRsp,
    kRbp,
    kRsi,
    kRdi,
    kR8,
    kR9,
    kR10,
    kR11,
    kR12,
    kR13,
    kR14,
    kR15,
    kFsBase,
    kGsBase,
    kCr2,
    kCr3,
    kCr4,
    kRegisters
};

// One for all vCPUs: every call is about the vCPU that runs the callback. Registers can be read,
// and are current, only in callbacks that were registered as reading them, and when code is
// translated: elsewhere QEMU before 10.1 gives stale ones, and later ones none.
class GuestState : public GuestMemory {
public:
    // From a vCPU's first callback. Throws a guest error if a register is missing.
    void find_registers();

    // 0, and counted, where QEMU gives none.
    std::uint64_t read(Register name);
    std::uint64_t failed_reads() const { return failed_reads_; }
    std::optional<std::string> read_bytes(std::uint64_t address, std::size_t length) override;
    // Nothing: a register that it needs could not be read.
    std::optional<std::uint64_t> address_of(const MemoryOperand &operand, std::uint64_t next_pc);
    PagingState paging();

private:
    std::uint64_t failed_reads_ = 0;
    std::array<qemu_plugin_register *, kRegisters> handles_ = {};
    GByteArray *bytes_ = nullptr; // grown once, then reused
};

} // namespace fencepost::tracer
