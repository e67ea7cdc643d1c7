// SPDX-License-Identifier: GPL-2.0-or-later
// The processes of the guest as far as the tracer knows them: an address space and what is mapped
// in it.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "qemu-plugin/file_table.h"
#include "qemu-plugin/program_image.h"

namespace fencepost::tracer {

// x86-64 splits its address space in the middle: the upper half is the kernel's.
inline bool is_kernel_address(std::uint64_t address)
{
    return static_cast<std::int64_t>(address) < 0;
}

// One program in one address space: execve makes another, though the page tables may be at an
// address that an earlier process had.
struct Process {
    std::uint64_t address_space = 0;   // page-table base; 0 = the kernel
    std::optional<ProgramStart> start; // until its headers have been read
    std::vector<Mapping> mappings;     // of code; later ones hide earlier ones
    FileTable files;
    bool newborn = false; // a child of fork that has made no system call
    bool ending = false;  // it has called exit or execve: its page tables are not to be relied on

    std::string module_at(std::uint64_t pc) const;
};

class Processes {
public:
    const Process &kernel() const { return kernel_; }
    // The process that runs in this address space, known or not.
    Process &in(std::uint64_t address_space);
    // A new program starts there.
    Process &replace(std::uint64_t address_space);
    // Those whose page tables are theirs still, as far as is known.
    std::vector<const Process *> living() const;
    // Nobody follows what processes open and map from here on.
    void forget_files();

private:
    Process kernel_;
    std::deque<Process> all_; // sites and code points refer to them for good
    std::unordered_map<std::uint64_t, Process *> current_;
};

} // namespace fencepost::tracer
