// SPDX-License-Identifier: GPL-2.0-or-later
// What call stacks say besides names: which thread it is, what is only recursion, who works on PM.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/symbols/code_names.h"

namespace fencepost::rules {

class CallPaths {
public:
    // The names must outlive it.
    explicit CallPaths(const symbols::CodeNames &code);

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

private:
    void find_roots();
    void fold_recursion();

    const symbols::CodeNames &code_;
    std::vector<std::uint32_t> stack_roots_;
    std::vector<std::uint32_t> site_roots_;
    std::vector<trace::StackId> without_recursion_;
    std::vector<bool> pm_symbols_;
};

} // namespace fencepost::rules
