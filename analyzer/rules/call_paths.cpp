// SPDX-License-Identifier: GPL-2.0-or-later
// See call_paths.h.
#include "analyzer/rules/call_paths.h"

#include <map>

namespace fencepost::rules {

namespace {

bool works_on_pm(const trace::SiteCounts &counts)
{
    return counts.stores + counts.nt_stores + counts.flushes != 0;
}

} // namespace

CallPaths::CallPaths(const symbols::CodeNames &code) : code_(code)
{
    find_roots();
    fold_recursion();
    pm_symbols_.resize(code.symbols().size());
    for (const trace::SiteRow &row : code.sites())
        if (row.location.symbol < pm_symbols_.size() && row.location.symbol != 0 &&
            rules::works_on_pm(row.counts))
            pm_symbols_[row.location.symbol] = true;
}

void CallPaths::find_roots()
{
    const std::vector<trace::Symbol> &symbols = code_.symbols();
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t> roots;
    const auto root_of = [&](std::uint64_t address_space, std::uint32_t symbol, std::uint64_t pc) {
        const std::uint64_t function =
            symbol != 0 && symbol < symbols.size() ? symbols[symbol].address : pc;
        return roots
            .emplace(std::pair(address_space, function),
                     static_cast<std::uint32_t>(roots.size() + 1))
            .first->second;
    };
    for (const trace::SiteRow &row : code_.sites())
        site_roots_.push_back(root_of(row.site.address_space, row.location.symbol, row.site.pc));
    stack_roots_.resize(code_.stacks().size());
    for (std::size_t id = 1; id < code_.stacks().size(); ++id) {
        const trace::Stack &stack = code_.stacks()[id];
        const trace::StackFrameRow &frame = code_.frames()[stack.frame];
        stack_roots_[id] = stack.parent ? stack_roots_[stack.parent]
                                        : root_of(frame.frame.address_space, frame.location.symbol,
                                                  frame.frame.pc);
    }
}

// From the outside in: a frame that is on the path already takes the path back to where it was.
void CallPaths::fold_recursion()
{
    struct Node {
        std::size_t parent;
        std::uint32_t frame;
    };
    const std::vector<trace::Stack> &stacks = code_.stacks();
    std::vector<Node> nodes(1);
    std::map<std::pair<std::size_t, std::uint32_t>, std::size_t> children;
    std::vector<std::size_t> node_of(stacks.size());
    std::map<std::size_t, trace::StackId> first_stack;
    without_recursion_.resize(stacks.size());
    for (std::size_t id = 1; id < stacks.size(); ++id) {
        const std::size_t outer = node_of[stacks[id].parent];
        const std::uint32_t frame = stacks[id].frame;
        std::size_t node = outer;
        while (node != 0 && nodes[node].frame != frame)
            node = nodes[node].parent;
        if (node == 0) {
            const auto [known, added] = children.emplace(std::pair(outer, frame), nodes.size());
            if (added)
                nodes.push_back({outer, frame});
            node = known->second;
        }
        node_of[id] = node;
        without_recursion_[id] =
            first_stack.emplace(node, static_cast<trace::StackId>(id)).first->second;
    }
}

bool CallPaths::works_on_pm(trace::SiteId site, trace::StackId stack) const
{
    const auto is_pm_symbol = [&](std::uint32_t symbol) {
        return symbol < pm_symbols_.size() && pm_symbols_[symbol];
    };
    if (site < code_.sites().size()) {
        const trace::SiteRow &row = code_.sites()[site];
        if (rules::works_on_pm(row.counts) || is_pm_symbol(row.location.symbol))
            return true;
    }
    return stack != 0 && stack < code_.stacks().size() &&
           is_pm_symbol(code_.frames()[code_.stacks()[stack].frame].location.symbol);
}

} // namespace fencepost::rules
