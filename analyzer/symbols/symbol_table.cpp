// SPDX-License-Identifier: GPL-2.0-or-later
// See symbol_table.h.
#include "analyzer/symbols/symbol_table.h"

#include <algorithm>
#include <tuple>

namespace fencepost::symbols {

void SymbolTable::finish()
{
    for (CodeSymbol &symbol : symbols_) {
        symbol.size = std::min(symbol.size, UINT64_MAX - symbol.address);
        limits_.push_back(symbol.address);
        limits_.push_back(symbol.address + symbol.size);
    }
    std::ranges::sort(limits_);
    limits_.erase(std::unique(limits_.begin(), limits_.end()), limits_.end());

    std::ranges::sort(symbols_, {}, [](const CodeSymbol &symbol) {
        return std::tie(symbol.address, symbol.rank, symbol.name, symbol.module, symbol.size);
    });
    std::stable_partition(symbols_.begin(), symbols_.end(),
                          [](const CodeSymbol &symbol) { return symbol.size > 0; });
    // One name an address: the best rank came first. A second one of another size could only tell
    // about bytes that the first does not have.
    const auto same = [](const CodeSymbol &a, const CodeSymbol &b) {
        return a.address == b.address && (a.size == b.size || b.size == 0 || a.size > b.size) &&
               (a.size > 0) == (b.size > 0);
    };
    symbols_.erase(std::unique(symbols_.begin(), symbols_.end(), same), symbols_.end());
    sized_ = static_cast<std::size_t>(
        std::ranges::find(symbols_, std::uint64_t{0}, &CodeSymbol::size) - symbols_.begin());

    reach_.clear();
    for (std::size_t i = 0; i < sized_; ++i) {
        const std::uint64_t end = symbols_[i].address + symbols_[i].size;
        reach_.push_back(i ? std::max(reach_[i - 1], end) : end);
    }
    for (std::size_t i = sized_; i < symbols_.size(); ++i) {
        const auto next = std::ranges::upper_bound(limits_, symbols_[i].address);
        symbols_[i].size = next == limits_.end() ? 0 : *next - symbols_[i].address;
    }
}

const CodeSymbol *SymbolTable::find(std::uint64_t address) const
{
    const auto begin = symbols_.begin();
    const auto middle = begin + static_cast<std::ptrdiff_t>(sized_);
    const auto sized = std::upper_bound(
        begin, middle, address, [](std::uint64_t at, const auto &s) { return at < s.address; });
    // Backwards through those that start before it, until none can reach it any more.
    for (auto at = sized;
         at != begin && reach_[static_cast<std::size_t>(at - begin) - 1] > address;) {
        --at;
        if (address - at->address >= at->size)
            continue;
        // Of several that start here the first has the best rank.
        auto best = at;
        for (auto other = at; other != begin && (other - 1)->address == at->address;)
            if (--other; address - other->address < other->size)
                best = other;
        return &*best;
    }
    const auto unsized =
        std::upper_bound(middle, symbols_.end(), address,
                         [](std::uint64_t at, const auto &s) { return at < s.address; });
    if (unsized == middle)
        return nullptr;
    const CodeSymbol &last = *(unsized - 1);
    // The very last symbol has no limit of its own: only its first byte is sure.
    return address - last.address < std::max<std::uint64_t>(last.size, 1) ? &last : nullptr;
}

} // namespace fencepost::symbols
