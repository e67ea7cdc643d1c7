// SPDX-License-Identifier: GPL-2.0-or-later
// The functions that QEMU calls, with the instruction's BlockPoint as user data.
#pragma once

#include "qemu-plugin/qemu_plugin_api.h"

namespace fencepost::tracer::callback {

void block(unsigned vcpu, void *instructions) noexcept; // how many it has
void store(unsigned vcpu, qemu_plugin_meminfo_t info, std::uint64_t address, void *code) noexcept;
void locked_store(unsigned vcpu, qemu_plugin_meminfo_t info, std::uint64_t address,
                  void *code) noexcept;
void load(unsigned vcpu, qemu_plugin_meminfo_t info, std::uint64_t address, void *code) noexcept;
void flush(unsigned vcpu, void *code) noexcept;
void fence(unsigned vcpu, void *code) noexcept;
void marker(unsigned vcpu, void *code) noexcept;
void system_call(unsigned vcpu, void *code) noexcept;
void return_from_kernel(unsigned vcpu, void *code) noexcept;
void call(unsigned vcpu, qemu_plugin_meminfo_t info, std::uint64_t address, void *code) noexcept;
void ret(unsigned vcpu, qemu_plugin_meminfo_t info, std::uint64_t address, void *code) noexcept;
void stack_pointer_load(unsigned vcpu, qemu_plugin_meminfo_t info, std::uint64_t address,
                        void *code) noexcept;
void stack_pointer_move(unsigned vcpu, void *code) noexcept;
void translation_change(unsigned vcpu, void *code) noexcept;
void undecodable(unsigned vcpu, void *code) noexcept;

} // namespace fencepost::tracer::callback
