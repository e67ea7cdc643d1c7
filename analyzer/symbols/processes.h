// SPDX-License-Identifier: GPL-2.0-or-later
// Which file each piece of a process's code came from, and where it was loaded: from the markers
// of a trace.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/symbols/elf_code.h"
#include "analyzer/symbols/guest_files.h"
#include "trace/reader.h"

namespace fencepost::symbols {

// ELF files by path in the guest, each opened once.
class ElfStore {
public:
    ElfStore(const GuestFiles &files, std::vector<std::filesystem::path> debug_directories)
        : files_(files), debug_directories_(std::move(debug_directories))
    {
    }
    // Nothing when there is no such file, or it is no ELF. The store owns the result.
    ElfCode *find(const std::string &guest_path);
    // The interpreter that the first line of a script names; empty = it is none.
    std::string script_interpreter(const std::string &guest_path) const;
    // Adds the separate debug file, if one is at hand.
    void find_debug_file(ElfCode &code) const;

private:
    const GuestFiles &files_;
    std::vector<std::filesystem::path> debug_directories_;
    std::map<std::string, std::unique_ptr<ElfCode>> codes_;
};

struct CodeRange {
    std::uint64_t start = 0;
    std::uint64_t size = 0;
    std::string path; // in the guest
    ElfCode *code = nullptr;
    std::uint64_t bias = 0; // guest address - the file's own

    bool contains(std::uint64_t address) const { return address - start < size; }
    bool operator==(const CodeRange &) const = default;
};

class Processes {
public:
    // Files that are named and not found are told in `notes`, once each.
    Processes(const trace::TraceReader &reader, ElfStore &store, std::vector<std::string> &notes);

    // `module` is what the recorder took the file for; empty = it did not know.
    const CodeRange *find(std::uint64_t process, std::uint64_t address,
                          const std::string &module) const;

private:
    void add_program(std::uint64_t process, const trace::Marker &marker, ElfStore &store);
    void add_mapping(std::uint64_t process, const trace::Marker &marker, ElfStore &store);
    void add_segments(std::uint64_t process, const std::string &path, ElfCode &code,
                      std::uint64_t bias);
    void miss(const std::string &path);

    std::map<std::uint64_t, std::vector<CodeRange>> ranges_;
    std::map<std::string, bool> missing_;
};

} // namespace fencepost::symbols
