// SPDX-License-Identifier: GPL-2.0-or-later
// What an ELF file says about its code: functions, segments, lines.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/symbols/source_place.h"
#include "analyzer/symbols/symbol_table.h"

namespace fencepost::symbols {

struct Segment {
    std::uint64_t offset = 0; // in the file
    std::uint64_t address = 0;
    std::uint64_t file_size = 0;
    std::uint64_t memory_size = 0;
    bool executable = false;
};

// An executable or library for x86-64. Addresses are the file's own; loading adds a bias. The
// bytes are not trusted: what cannot be read is as if it were not there.
class ElfCode {
public:
    // Nothing when the bytes are not such a file.
    static std::unique_ptr<ElfCode> open(std::string bytes);
    ~ElfCode();

    std::uint64_t entry() const;
    const std::vector<Segment> &segments() const; // PT_LOAD only
    const std::string &interpreter() const;       // empty = none
    const std::string &build_id() const;          // hexadecimal; empty = none
    bool has_debug_lines() const;

    // Functions and lines that a separate debug file of the same program has.
    void add_debug_file(std::unique_ptr<ElfCode> debug);

    const CodeSymbol *function_at(std::uint64_t address);
    std::optional<SourceLine> line_at(std::uint64_t address);
    // With what is inlined there.
    std::optional<SourcePlace> place_at(std::uint64_t address);
    // The address of the symbol with that name.
    std::optional<std::uint64_t> address_of(std::string_view name);

private:
    struct State;
    struct UnitRange;
    const UnitRange *unit_at(std::uint64_t address) const;

    explicit ElfCode(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

} // namespace fencepost::symbols
