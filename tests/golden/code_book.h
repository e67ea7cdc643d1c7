// SPDX-License-Identifier: GPL-2.0-or-later
// The code that a trace text speaks of: functions by name, and the sites, stacks and rows that
// follow from how they are used.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "trace/amendment.h"
#include "trace/records.h"
#include "trace/writer.h"

namespace fencepost::golden {

class CodeBook {
public:
    struct Function {
        trace::Symbol symbol;
        trace::Privilege privilege = trace::Privilege::kernel;
        std::uint64_t address_space = 0;
        std::string source_file = {};
    };

    // `function NAME …`: before its first use. False when the name is taken.
    bool declare(Function function);

    // A place is NAME, NAME+OFFSET, NAME:LINE, NAME+OFFSET:LINE, or an address without a name.
    // Throws std::invalid_argument with what is wrong with it.
    trace::SiteId site(std::string_view place, std::string_view disassembly);
    // Callers from the inside out, with < between them.
    trace::StackId stack(std::string_view places);

    void write_to(trace::TraceWriter &writer) const;
    void name_in(trace::TraceAmendment &amendment) const;

private:
    struct Place {
        std::uint64_t pc = 0;
        trace::Privilege privilege = trace::Privilege::kernel;
        std::uint64_t address_space = 0;
        std::string module = {};
        trace::CodeLocation location = {};
    };
    Place locate(std::string_view place);
    Function &function(const std::string &name);

    std::map<std::string, Function, std::less<>> functions_;
    std::map<std::string, trace::SiteId, std::less<>> site_ids_;
    std::map<std::string, std::uint32_t, std::less<>> frame_ids_;
    std::map<std::pair<trace::StackId, std::uint32_t>, trace::StackId> stack_ids_;
    std::vector<std::pair<trace::Site, trace::CodeLocation>> sites_;
    std::vector<std::pair<trace::StackFrame, trace::CodeLocation>> frames_;
    std::vector<trace::Stack> stacks_;
};

} // namespace fencepost::golden
