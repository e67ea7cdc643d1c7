// SPDX-License-Identifier: GPL-2.0-or-later
// A program that has just been started, from what the kernel leaves on its stack and in its memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "qemu-plugin/guest_memory.h"

namespace fencepost::tracer {

// Of the auxiliary vector (System V ABI, x86-64 supplement, 3.4.3).
struct ProgramStart {
    std::uint64_t headers = 0;      // AT_PHDR
    std::uint64_t header_count = 0; // AT_PHNUM
    std::uint64_t entry = 0;        // AT_ENTRY
    std::uint64_t interpreter = 0;  // AT_BASE; 0 = none
    std::uint64_t vdso = 0;         // AT_SYSINFO_EHDR
    std::string path;               // AT_EXECFN
};

// `stack` is where rsp points when the program gets its first instruction at `pc`. Nothing if that
// is no program's beginning.
std::optional<ProgramStart> read_program_start(GuestMemory &memory, std::uint64_t stack,
                                               std::uint64_t pc);

// A file's bytes in memory.
struct Mapping {
    std::uint64_t base = 0;
    std::uint64_t length = 0;
    std::uint64_t file_offset = 0;
    std::string path;
};

// The executable parts of the program and of its interpreter. Nothing as long as the headers are
// not in memory: the program itself brings them there before long.
std::optional<std::vector<Mapping>> read_image(GuestMemory &memory, const ProgramStart &start);

} // namespace fencepost::tracer
