// SPDX-License-Identifier: GPL-2.0-or-later
// See inlined_frames.h.
#include "analyzer/symbols/inlined_frames.h"

#include <algorithm>

#include <dwarf.h>

namespace fencepost::symbols {

namespace {

// More than any program has; a forged file must not keep us busy.
constexpr std::uint64_t kMostCollected = 50'000'000;
constexpr std::uint64_t kMostVisited = 1'000'000;
constexpr unsigned kMostDepth = 64;

bool has_code(Dwarf_Die *die)
{
    return dwarf_hasattr(die, DW_AT_low_pc) != 0 || dwarf_hasattr(die, DW_AT_ranges) != 0;
}

// The name of its symbol where there is one: C++ has it, C does without.
std::string name_of(Dwarf_Die *die)
{
    for (const unsigned attribute : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name}) {
        Dwarf_Attribute value;
        if (const char *name = dwarf_formstring(dwarf_attr_integrate(die, attribute, &value)))
            return name;
    }
    return "";
}

std::uint64_t number_of(Dwarf_Die *die, unsigned attribute)
{
    Dwarf_Attribute value;
    Dwarf_Word number = 0;
    return dwarf_formudata(dwarf_attr(die, attribute, &value), &number) == 0 ? number : 0;
}

SourceLine call_of(Dwarf_Die *die, Dwarf_Die *unit)
{
    SourceLine call;
    Dwarf_Files *files = nullptr;
    std::size_t count = 0;
    const std::uint64_t file = number_of(die, DW_AT_call_file);
    const std::uint64_t line = number_of(die, DW_AT_call_line);
    if (line == 0 || line > UINT32_MAX || dwarf_getsrcfiles(unit, &files, &count) != 0 ||
        file >= count)
        return call;
    if (const char *name = dwarf_filesrc(files, file, nullptr, nullptr))
        call = {.file = name, .line = static_cast<std::uint32_t>(line)};
    return call;
}

} // namespace

// Functions with code of their own, wherever in the unit they are: C++ has them in namespaces,
// classes and functions.
void InlinedFrames::collect(Dwarf_Die *parent, unsigned depth, std::vector<Subprogram> &into)
{
    Dwarf_Die die;
    if (depth == kMostDepth || dwarf_child(parent, &die) != 0)
        return;
    do {
        if (++collected_ > kMostCollected)
            return;
        if (dwarf_tag(&die) == DW_TAG_subprogram) {
            Dwarf_Addr base = 0;
            Dwarf_Addr low = 0;
            Dwarf_Addr high = 0;
            for (std::ptrdiff_t range = 0;
                 (range = dwarf_ranges(&die, range, &base, &low, &high)) > 0 &&
                 ++collected_ <= kMostCollected;)
                if (low < high)
                    into.push_back({low, high, dwarf_dieoffset(&die)});
        }
        if (dwarf_haschildren(&die) > 0)
            collect(&die, depth + 1, into);
    } while (dwarf_siblingof(&die, &die) == 0);
}

const std::vector<InlinedFrames::Subprogram> &InlinedFrames::subprograms_of(Dwarf_Off unit)
{
    const auto [known, added] = units_.try_emplace(unit);
    Dwarf_Die die;
    if (added && dwarf_offdie(dwarf_, unit, &die)) {
        collect(&die, 0, known->second);
        std::ranges::stable_sort(known->second, {}, &Subprogram::low);
    }
    return known->second;
}

// Adds what is inlined there to the chain; whether there is code at the address.
bool InlinedFrames::descend(Dwarf_Die *parent, std::uint64_t address, unsigned depth)
{
    Dwarf_Die die;
    if (depth == kMostDepth || dwarf_child(parent, &die) != 0)
        return false;
    do {
        if (++visited_ > kMostVisited)
            return false;
        const int tag = dwarf_tag(&die);
        const bool is_inlined = tag == DW_TAG_inlined_subroutine;
        if (!is_inlined && tag != DW_TAG_lexical_block && tag != DW_TAG_try_block &&
            tag != DW_TAG_catch_block)
            continue;
        const bool here = dwarf_haspc(&die, address) > 0;
        if (!here && (is_inlined || has_code(&die)))
            continue;
        if (is_inlined)
            chain_.push_back(die);
        if (descend(&die, address, depth + 1) || here)
            return true;
    } while (dwarf_siblingof(&die, &die) == 0);
    return false;
}

std::vector<InlinedFrame> InlinedFrames::at(Dwarf_Off unit, std::uint64_t address)
{
    const std::vector<Subprogram> &all = subprograms_of(unit);
    const auto after = std::ranges::upper_bound(all, address, {}, &Subprogram::low);
    Dwarf_Die subprogram;
    Dwarf_Die unit_die;
    if (after == all.begin() || address >= (after - 1)->high ||
        !dwarf_offdie(dwarf_, (after - 1)->die, &subprogram) ||
        !dwarf_offdie(dwarf_, unit, &unit_die))
        return {};
    chain_.clear();
    visited_ = 0;
    descend(&subprogram, address, 0);
    std::vector<InlinedFrame> frames;
    for (auto die = chain_.rbegin(); die != chain_.rend(); ++die) {
        frames.push_back({.function = name_of(&*die), .call = call_of(&*die, &unit_die)});
        if (frames.back().function.empty())
            return {};
    }
    return frames;
}

} // namespace fencepost::symbols
