// SPDX-License-Identifier: GPL-2.0-or-later
// Where an instruction comes from in source: its line, and the functions that were inlined there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fencepost::symbols {

struct SourceLine {
    std::string file;
    std::uint32_t line = 0;
};

struct InlinedFrame {
    std::string function; // as its symbol would be
    SourceLine call;      // in the function that it is inlined in; line 0 = unknown
};

struct SourcePlace {
    SourceLine line;                   // of the innermost function
    std::vector<InlinedFrame> inlined; // the innermost first
};

// Headers of compilers, libraries and the system, such as GCC's clwbintrin.h.
bool is_system_header(std::string_view file);

// Without the innermost functions of system headers: _mm_clwb() is the line that calls it. Where
// all of it is in system headers, the function that everything else is inlined in.
SourcePlace own_place(SourcePlace place);

} // namespace fencepost::symbols
