// SPDX-License-Identifier: GPL-2.0-or-later
// Names for what a trace has numbers for.
#pragma once

#include <string>
#include <vector>

#include "trace/mapped_code.h"
#include "trace/reader.h"

namespace fencepost::trace {

class CodeNames {
public:
    // The reader must outlive it.
    explicit CodeNames(const TraceReader &reader);

    // "pmem0+0x1240", or the address where no region has it.
    std::string place(std::uint64_t address) const;
    // Function, offset and source line as far as known; without symbols the place in the file.
    std::string site(SiteId id);
    // Functions, the innermost first; empty where no stack was recorded.
    std::vector<std::string> stack(StackId id);

private:
    std::string function(Statement &row) const;

    std::vector<Region> regions_;
    MappedCode mapped_;
    Statement site_;
    Statement stack_;
};

} // namespace fencepost::trace
