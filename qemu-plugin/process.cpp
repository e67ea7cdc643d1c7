// SPDX-License-Identifier: GPL-2.0-or-later
// See process.h.
#include "qemu-plugin/process.h"

namespace fencepost::tracer {

namespace {

// Linux's kernel image; modules follow it, and only the guest knows which is where.
constexpr std::uint64_t kKernelImage = 0xffff'ffff'8000'0000;
constexpr std::uint64_t kKernelModules = 0xffff'ffff'c000'0000;

} // namespace

std::string Process::module_at(std::uint64_t pc) const
{
    if (is_kernel_address(pc))
        return pc >= kKernelImage && pc < kKernelModules ? "kernel" : "";
    for (auto mapping = mappings.rbegin(); mapping != mappings.rend(); ++mapping)
        if (pc - mapping->base < mapping->length)
            return mapping->path;
    return "";
}

Process &Processes::in(std::uint64_t address_space)
{
    const auto found = current_.find(address_space);
    return found == current_.end() ? replace(address_space) : *found->second;
}

Process &Processes::replace(std::uint64_t address_space)
{
    Process &process = all_.emplace_back();
    process.address_space = address_space;
    current_[address_space] = &process;
    return process;
}

std::vector<const Process *> Processes::living() const
{
    std::vector<const Process *> processes;
    for (const auto &[address_space, process] : current_)
        if (address_space != 0 && !process->ending)
            processes.push_back(process);
    return processes;
}

void Processes::forget_files()
{
    for (const auto &[address_space, process] : current_)
        process->files = {};
}

} // namespace fencepost::tracer
