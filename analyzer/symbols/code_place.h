// SPDX-License-Identifier: GPL-2.0-or-later
// A place in code by name, and an event with the places that led to it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/event.h"

namespace fencepost::symbols {

struct CodePlace {
    std::string function;     // where code has no name, its place in the file, or its address
    std::uint64_t offset = 0; // from its start; of what is inlined, from that of the symbol
    bool named = false;
    bool inlined = false; // into the place that comes next
    std::string module;
    std::string source_file; // empty = unknown
    std::uint32_t source_line = 0;
    std::string instruction; // disassembly; empty for callers
};

// "function+0x12 (file.c:34)", as far as known; "function (inlined) (file.c:34)".
std::string text_of(const CodePlace &code);

// Callers from the inside out.
struct EventPlace {
    trace::EventRef event;
    CodePlace code;
    std::vector<CodePlace> callers;
};

} // namespace fencepost::symbols
