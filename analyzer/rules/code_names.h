// SPDX-License-Identifier: GPL-2.0-or-later
// Who executed an event: functions, modules and callers, looked up once before a trace is read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/findings/rule_finding.h"
#include "analyzer/rules/line_table.h"
#include "trace/mapped_code.h"
#include "trace/reader.h"

namespace fencepost::rules {

class CodeNames {
public:
    // Where the code of events is known by name. Ids that the trace does not have are unknown code.
    explicit CodeNames(const trace::TraceReader &reader);

    findings::EventPlace place(const Origin &origin) const;
    std::string function(trace::SiteId site) const { return code_of_site(site).function; }
    std::string module(trace::SiteId site) const;
    // "function+0x12 (file.c:34)"
    std::string where(trace::SiteId site) const;
    // Page-table base of the process; 0 for kernel code and for unknown code.
    std::uint64_t address_space(trace::SiteId site) const
    {
        return site < sites_.size() ? sites_[site].site.address_space : 0;
    }
    // Whether the function of a site, or of its innermost caller, stores to PM or flushes it.
    bool works_on_pm(trace::SiteId site, trace::StackId stack) const;
    // A number for the process and the outermost function: tells threads that began in different
    // functions apart.
    std::uint32_t root(trace::SiteId site, trace::StackId stack) const
    {
        if (stack != 0 && stack < stack_roots_.size())
            return stack_roots_[stack];
        return site < site_roots_.size() ? site_roots_[site] : 0;
    }

    // Stacks that differ only in how often recursion went round have one number.
    trace::StackId without_recursion(trace::StackId stack) const
    {
        return stack < without_recursion_.size() ? without_recursion_[stack] : stack;
    }

    const std::vector<trace::SiteRow> &sites() const { return sites_; } // by id; [0] is unknown
    const std::vector<trace::Symbol> &symbols() const { return symbols_; }
    const std::vector<trace::Stack> &stacks() const { return stacks_; }
    const std::vector<trace::StackFrameRow> &frames() const { return frames_; }
    std::uint64_t nameless_sites() const;
    // Stacks or sites that refer to rows that are not there.
    std::uint64_t dangling() const { return dangling_; }

private:
    void fold_recursion();
    findings::CodePlace code_of_site(trace::SiteId site) const;
    findings::CodePlace code_at(std::uint64_t address_space, std::uint64_t pc,
                                const std::string &module,
                                const trace::CodeLocation &location) const;

    std::vector<trace::SiteRow> sites_;
    std::vector<trace::Symbol> symbols_;
    std::vector<trace::Stack> stacks_;
    std::vector<trace::StackFrameRow> frames_;
    std::vector<std::uint32_t> stack_roots_;
    std::vector<std::uint32_t> site_roots_;
    std::vector<trace::StackId> without_recursion_;
    std::vector<bool> pm_symbols_;
    trace::MappedCode mapped_;
    std::uint64_t dangling_ = 0;
};

} // namespace fencepost::rules
