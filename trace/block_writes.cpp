// SPDX-License-Identifier: GPL-2.0-or-later
// See block_writes.h.
#include "trace/block_writes.h"

#include <algorithm>

namespace fencepost::trace {

namespace {

// Where the block layer enters drivers/nvdimm/pmem.c.
constexpr std::string_view kEntries[] = {"pmem_submit_bio", "pmem_make_request", "pmem_rw_page"};

bool is_entry(const Symbol &symbol)
{
    const std::string_view name = std::string_view(symbol.name).substr(0, symbol.name.find('.'));
    return std::find(std::begin(kEntries), std::end(kEntries), name) != std::end(kEntries);
}

} // namespace

BlockWrites::BlockWrites(const TraceReader &reader)
{
    std::unordered_set<std::uint32_t> entries; // symbols
    for (const Symbol &symbol : reader.symbols())
        if (is_entry(symbol))
            entries.insert(symbol.id);
    if (entries.empty())
        return;
    std::unordered_set<std::uint32_t> frames;
    for (const StackFrameRow &row : reader.stack_frames())
        if (entries.contains(row.location.symbol))
            frames.insert(row.frame.id);
    // A stack comes after the one of its caller.
    for (const Stack &stack : reader.stacks())
        if (frames.contains(stack.frame) || stacks_.contains(stack.parent))
            stacks_.insert(stack.id);
}

} // namespace fencepost::trace
