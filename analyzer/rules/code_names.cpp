// SPDX-License-Identifier: GPL-2.0-or-later
// See code_names.h.
#include "analyzer/rules/code_names.h"

#include <map>

#include <fmt/core.h>

namespace fencepost::rules {

using findings::CodePlace;
using findings::EventPlace;

namespace {

// Rows by id from 1; ids are dense in a file that is not damaged, and rows beyond that are left
// out.
template <typename Row, typename Id>
std::vector<Row> by_id(std::vector<Row> rows, Id &&id_of, std::uint64_t &dangling)
{
    std::vector<Row> result(rows.size() + 1);
    for (Row &row : rows) {
        const std::uint64_t id = id_of(row);
        if (id >= result.size())
            ++dangling;
        else
            result[id] = std::move(row);
    }
    return result;
}

constexpr unsigned kMostCallers = 64;

} // namespace

CodeNames::CodeNames(const trace::TraceReader &reader)
    : sites_(by_id(
          reader.sites(), [](const auto &row) { return row.site.id; }, dangling_)),
      symbols_(by_id(
          reader.symbols(), [](const auto &row) { return row.id; }, dangling_)),
      stacks_(by_id(
          reader.stacks(), [](const auto &row) { return row.id; }, dangling_)),
      frames_(by_id(
          reader.stack_frames(), [](const auto &row) { return row.frame.id; }, dangling_)),
      mapped_(reader)
{
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t> roots;
    const auto root_of = [&](std::uint64_t address_space, std::uint32_t symbol, std::uint64_t pc) {
        const std::uint64_t function =
            symbol != 0 && symbol < symbols_.size() ? symbols_[symbol].address : pc;
        return roots
            .emplace(std::pair(address_space, function),
                     static_cast<std::uint32_t>(roots.size() + 1))
            .first->second;
    };
    for (const trace::SiteRow &row : sites_)
        site_roots_.push_back(root_of(row.site.address_space, row.location.symbol, row.site.pc));
    stack_roots_.resize(stacks_.size());
    for (std::size_t id = 1; id < stacks_.size(); ++id) {
        trace::Stack &stack = stacks_[id];
        // A parent is recorded before its children; anything else could be a circle.
        if (stack.parent >= id) {
            ++dangling_;
            stack.parent = 0;
        }
        if (stack.frame >= frames_.size()) {
            ++dangling_;
            stack.frame = 0;
        }
        const trace::StackFrameRow &frame = frames_[stack.frame];
        stack_roots_[id] = stack.parent ? stack_roots_[stack.parent]
                                        : root_of(frame.frame.address_space, frame.location.symbol,
                                                  frame.frame.pc);
    }
    fold_recursion();
    pm_symbols_.resize(symbols_.size());
    for (const trace::SiteRow &row : sites_)
        if (row.location.symbol < pm_symbols_.size() && row.location.symbol != 0 &&
            row.counts.stores + row.counts.nt_stores + row.counts.flushes != 0)
            pm_symbols_[row.location.symbol] = true;
}

// From the outside in: a frame that is on the path already takes the path back to where it was.
void CodeNames::fold_recursion()
{
    struct Node {
        std::size_t parent;
        std::uint32_t frame;
    };
    std::vector<Node> nodes(1);
    std::map<std::pair<std::size_t, std::uint32_t>, std::size_t> children;
    std::vector<std::size_t> node_of(stacks_.size());
    std::map<std::size_t, trace::StackId> first_stack;
    without_recursion_.resize(stacks_.size());
    for (std::size_t id = 1; id < stacks_.size(); ++id) {
        const std::size_t outer = node_of[stacks_[id].parent];
        const std::uint32_t frame = stacks_[id].frame;
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

CodePlace CodeNames::code_at(std::uint64_t address_space, std::uint64_t pc,
                             const std::string &module, const trace::CodeLocation &location) const
{
    CodePlace place;
    place.module = module;
    place.source_file = location.source_file;
    place.source_line = location.source_line;
    if (location.symbol != 0 && location.symbol < symbols_.size()) {
        const trace::Symbol &symbol = symbols_[location.symbol];
        place.function = symbol.name;
        place.offset = pc - symbol.address;
        place.named = true;
    } else {
        place.function = pc == 0 ? "unknown code" : mapped_.place(address_space, pc, module);
    }
    return place;
}

CodePlace CodeNames::code_of_site(trace::SiteId site) const
{
    if (site == 0 || site >= sites_.size())
        return code_at(0, 0, "", {});
    const trace::SiteRow &row = sites_[site];
    CodePlace place = code_at(row.site.address_space, row.site.pc, row.site.module, row.location);
    place.instruction = row.site.disassembly;
    return place;
}

std::string CodeNames::module(trace::SiteId site) const
{
    return site < sites_.size() ? sites_[site].site.module : "";
}

std::string CodeNames::where(trace::SiteId site) const
{
    const CodePlace place = code_of_site(site);
    std::string text = place.function;
    if (place.named && place.offset)
        text += fmt::format("+0x{:x}", place.offset);
    if (!place.source_file.empty())
        text += fmt::format(" ({}:{})", place.source_file, place.source_line);
    return text;
}

EventPlace CodeNames::place(const Origin &origin) const
{
    EventPlace place = {.seq = origin.seq, .code = code_of_site(origin.site), .callers = {}};
    trace::StackId stack = origin.stack < stacks_.size() ? origin.stack : 0;
    for (; stack != 0 && place.callers.size() < kMostCallers; stack = stacks_[stack].parent) {
        const trace::StackFrameRow &row = frames_[stacks_[stack].frame];
        place.callers.push_back(
            code_at(row.frame.address_space, row.frame.pc, row.frame.module, row.location));
    }
    return place;
}

bool CodeNames::works_on_pm(trace::SiteId site, trace::StackId stack) const
{
    if (site < sites_.size()) {
        const std::uint32_t symbol = sites_[site].location.symbol;
        const trace::SiteCounts &counts = sites_[site].counts;
        if (counts.stores + counts.nt_stores + counts.flushes != 0 ||
            (symbol < pm_symbols_.size() && pm_symbols_[symbol]))
            return true;
    }
    if (stack == 0 || stack >= stacks_.size())
        return false;
    const std::uint32_t symbol = frames_[stacks_[stack].frame].location.symbol;
    return symbol < pm_symbols_.size() && pm_symbols_[symbol];
}

std::uint64_t CodeNames::nameless_sites() const
{
    std::uint64_t count = 0;
    for (std::size_t id = 1; id < sites_.size(); ++id)
        count += sites_[id].location.symbol == 0;
    return count;
}

} // namespace fencepost::rules
