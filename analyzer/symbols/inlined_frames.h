// SPDX-License-Identifier: GPL-2.0-or-later
// Functions that a compiler put into others, from DWARF (version 5, section 3.3.8).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <elfutils/libdw.h>

#include "analyzer/symbols/source_place.h"

namespace fencepost::symbols {

// Of one file. The bytes are not trusted: a file that is damaged, or made to keep us busy, has
// fewer frames.
class InlinedFrames {
public:
    // `dwarf` is borrowed.
    explicit InlinedFrames(Dwarf *dwarf) : dwarf_(dwarf) {}

    // At an address of a unit; the innermost first. Empty: nothing is inlined there, or a name is
    // missing.
    std::vector<InlinedFrame> at(Dwarf_Off unit, std::uint64_t address);

private:
    struct Subprogram {
        std::uint64_t low = 0;
        std::uint64_t high = 0;
        Dwarf_Off die = 0;
    };

    const std::vector<Subprogram> &subprograms_of(Dwarf_Off unit);
    void collect(Dwarf_Die *parent, unsigned depth, std::vector<Subprogram> &into);
    bool descend(Dwarf_Die *parent, std::uint64_t address, unsigned depth);
    Dwarf *dwarf_;
    std::map<Dwarf_Off, std::vector<Subprogram>> units_;
    std::vector<Dwarf_Die> chain_; // the outermost first
    std::uint64_t collected_ = 0;  // entries of the file
    std::uint64_t visited_ = 0;    // entries, for one address
};

} // namespace fencepost::symbols
