// SPDX-License-Identifier: GPL-2.0-or-later
// See guest_state.h.
#include "qemu-plugin/guest_state.h"

#include <cstring>
#include <string_view>

#include "base/error.h"

namespace fencepost::tracer {

namespace {

// QEMU's names, in the order of Register.
constexpr std::array<const char *, kRegisters> kNames = {
    "rax", "rcx", "rdx", "rbx", "rsp", "rbp",     "rsi",     "rdi", "r8",  "r9", "r10",
    "r11", "r12", "r13", "r14", "r15", "fs_base", "gs_base", "cr2", "cr3", "cr4"};

constexpr std::uint64_t kFiveLevels = 1 << 12; // of cr4

} // namespace

void GuestState::find_registers()
{
    if (!bytes_)
        bytes_ = g_byte_array_sized_new(8192);
    GArray *list = qemu_plugin_get_registers();
    const unsigned stride = g_array_get_element_size(list);
    for (unsigned i = 0; i < list->len; ++i) {
        qemu_plugin_reg_descriptor found;
        std::memcpy(&found, list->data + std::size_t{i} * stride, sizeof found);
        for (unsigned name = 0; name < kRegisters; ++name)
            if (std::string_view(found.name) == kNames[name])
                handles_[name] = found.handle;
    }
    g_array_free(list, true);
    for (unsigned name = 0; name < kRegisters; ++name)
        if (!handles_[name])
            fail(ErrorKind::guest, "this QEMU does not show the register {}", kNames[name]);
}

std::uint64_t GuestState::read(Register name)
{
    g_byte_array_set_size(bytes_, 0);
    qemu_plugin_read_register(handles_[name], bytes_);
    // What it returns for a failure is -1 or false, by level; that there are no bytes is the same
    // in all.
    if (bytes_->len == 0) [[unlikely]] {
        ++failed_reads_;
        return 0;
    }
    std::uint64_t value = 0;
    std::memcpy(&value, bytes_->data, bytes_->len < sizeof value ? bytes_->len : sizeof value);
    return value;
}

std::optional<std::string> GuestState::read_bytes(std::uint64_t address, std::size_t length)
{
    if (!qemu_plugin_read_memory_vaddr(address, bytes_, length))
        return std::nullopt;
    return std::string(reinterpret_cast<const char *>(bytes_->data), length);
}

std::optional<std::uint64_t> GuestState::address_of(const MemoryOperand &operand,
                                                    std::uint64_t next_pc)
{
    const std::uint64_t failed_before = failed_reads_;
    std::uint64_t address = static_cast<std::uint64_t>(operand.displacement);
    if (operand.rip_relative)
        address += next_pc;
    if (operand.base != kNoRegister)
        address += read(static_cast<Register>(operand.base));
    if (operand.index != kNoRegister)
        address += read(static_cast<Register>(operand.index)) * operand.scale;
    if (operand.address_bits == 32)
        address &= 0xffff'ffff;
    if (operand.segment != Segment::flat)
        address += read(operand.segment == Segment::fs ? kFsBase : kGsBase);
    if (failed_reads_ != failed_before)
        return std::nullopt;
    return address;
}

PagingState GuestState::paging()
{
    return {read(kCr3), (read(kCr4) & kFiveLevels) != 0};
}

} // namespace fencepost::tracer
