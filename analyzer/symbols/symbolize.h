// SPDX-License-Identifier: GPL-2.0-or-later
// Gives the code in a trace its names: functions, files and lines for sites and callers, and what
// is inlined there in programs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace fencepost::symbols {

// A file of the guest and the host's copy of it.
struct GuestFile {
    std::string guest_path; // absolute
    std::filesystem::path host_file;
};

// Where names may come from. Anything may be left out; what is missing, foreign or damaged costs
// names, never the trace, and is told in the report. No file is trusted.
struct SymbolSources {
    // The guest's /proc/kallsyms and /proc/modules: text, or that text compressed with zstd.
    std::filesystem::path kallsyms = {};
    std::filesystem::path modules = {};
    // The kernel as ELF with debug information. Kernel modules have names, from kallsyms, but no
    // lines: their debug information would have to be relocated first.
    std::filesystem::path vmlinux = {};
    // Where the guest's programs and libraries are, in the order in which they are asked.
    std::vector<GuestFile> files = {};                         // what was copied into the guest
    std::vector<std::filesystem::path> trees = {};             // directories merged into its root
    std::vector<std::filesystem::path> archives = {};          // its initrd: cpio, plain or zstd
    std::vector<std::filesystem::path> debug_directories = {}; // with .build-id/xx/….debug in them
};

struct SymbolizeReport {
    std::uint64_t sites = 0;
    std::uint64_t named_sites = 0;   // function known
    std::uint64_t located_sites = 0; // file and line known
    std::uint64_t frames = 0;        // callers in call stacks
    std::uint64_t named_frames = 0;
    std::uint64_t located_frames = 0;
    std::uint64_t symbols = 0;
    std::vector<std::string> notes = {}; // one sentence each: what kept names from being found
};

// Replaces the names in a trace that no recorder writes to any more: all or nothing. Adds the
// data-quality counters `sites_without_symbol` and `frames_without_symbol`. Throws what
// TraceReader and TraceAmendment throw.
SymbolizeReport symbolize_trace(const std::filesystem::path &trace, const SymbolSources &sources);

} // namespace fencepost::symbols
