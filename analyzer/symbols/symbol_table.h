// SPDX-License-Identifier: GPL-2.0-or-later
// Functions by address.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fencepost::symbols {

// Of several names for one address the one with the lowest rank is taken.
enum class SymbolRank : std::uint8_t { global, weak, local, marker };

struct CodeSymbol {
    std::uint64_t address = 0;
    std::uint64_t size = 0; // 0 = up to the next symbol or limit
    SymbolRank rank = SymbolRank::global;
    std::string name = {};
    std::string module = {};
};

// Symbols of one address space, from files that nobody vouches for: they may overlap, repeat, lack
// a size or wrap around.
class SymbolTable {
public:
    void add(CodeSymbol symbol) { symbols_.push_back(std::move(symbol)); }
    // A symbol without a size does not reach over this address.
    void add_limit(std::uint64_t address) { limits_.push_back(address); }
    // After the last addition and before the first question.
    void finish();

    // The function that an address is in: of those whose size says so the innermost, else the one
    // without a size that starts last before it. The table owns the result.
    const CodeSymbol *find(std::uint64_t address) const;
    std::size_t size() const { return symbols_.size(); }
    const std::vector<CodeSymbol> &symbols() const { return symbols_; }

private:
    std::vector<CodeSymbol> symbols_; // by address once finished; those with a size first
    std::size_t sized_ = 0;
    std::vector<std::uint64_t> reach_; // of sized symbols: how far any up to this one goes
    std::vector<std::uint64_t> limits_;
};

} // namespace fencepost::symbols
