// SPDX-License-Identifier: GPL-2.0-or-later
// Who executed an event: names for the sites and call stacks of a trace, read once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/symbols/code_place.h"
#include "analyzer/symbols/mapped_code.h"
#include "trace/inlined_calls.h"
#include "trace/reader.h"

namespace fencepost::symbols {

class CodeNames {
public:
    // Ids that the trace does not have are unknown code.
    explicit CodeNames(const trace::TraceReader &reader);

    // Where a function is inlined, it is the innermost one of the user's own.
    CodePlace code(trace::SiteId site) const;
    // Inlined functions are among the callers.
    EventPlace place(const trace::EventRef &event) const;
    // "function+0x12 (file.c:34)", as far as known.
    std::string where(trace::SiteId site) const { return text_of(code(site)); }
    // Functions that called it, the innermost first; empty where no stack was recorded.
    std::vector<std::string> stack(const trace::EventRef &event) const;
    // Page-table base of the process; 0 for kernel code and for unknown code.
    std::uint64_t address_space(trace::SiteId site) const
    {
        return site < sites_.size() ? sites_[site].site.address_space : 0;
    }

    // By id; [0] is unknown. A stack's parent has a smaller id, and its frame is there.
    const std::vector<trace::SiteRow> &sites() const { return sites_; }
    const std::vector<trace::Symbol> &symbols() const { return symbols_; }
    const std::vector<trace::Stack> &stacks() const { return stacks_; }
    const std::vector<trace::StackFrameRow> &frames() const { return frames_; }
    std::uint64_t nameless_sites() const;
    // Stacks or sites that refer to rows that are not there.
    std::uint64_t dangling() const { return dangling_; }

private:
    using Places = std::vector<CodePlace>;

    CodePlace code_at(std::uint64_t address_space, std::uint64_t pc, const std::string &module,
                      const trace::CodeLocation &location) const;
    // What is inlined there, the innermost first, and the function that it is inlined in.
    Places places_at(std::uint64_t address_space, std::uint64_t pc, const std::string &module,
                     const trace::CodeLocation &location) const;
    Places site_places(trace::SiteId site) const;
    Places caller_places(trace::StackId stack) const;

    std::uint64_t dangling_ = 0; // counted while the rest is made
    std::vector<trace::SiteRow> sites_;
    std::vector<trace::Symbol> symbols_;
    std::vector<trace::Stack> stacks_;
    std::vector<trace::StackFrameRow> frames_;
    MappedCode mapped_;
    trace::InlinedCalls inlined_;
};

} // namespace fencepost::symbols
