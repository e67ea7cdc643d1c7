// SPDX-License-Identifier: GPL-2.0-or-later
// Code without symbols by its place in the file that it was loaded from: that stays, where a
// process has it loaded changes from run to run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trace/reader.h"

namespace fencepost::symbols {

class MappedCode {
public:
    // What processes mapped, as the trace's markers tell it.
    explicit MappedCode(const trace::TraceReader &reader);

    // "libc.so.6+0x1240"; the address where no mapping has it. `module`: the path of the file.
    std::string place(std::uint64_t address_space, std::uint64_t pc, std::string_view module) const;

private:
    struct Mapping {
        std::uint64_t process;
        std::uint64_t start;
        std::uint64_t size;
        std::uint64_t offset; // in the file
    };
    std::vector<Mapping> mappings_;
};

} // namespace fencepost::symbols
