// SPDX-License-Identifier: GPL-2.0-or-later
// See incidental_fences.h.
#include "trace/incidental_fences.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/digest.h"

namespace fencepost::trace {

namespace {

// barrier_nospec() before user memory is read, and weak_wrmsr_fence() before an MSR of the local
// APIC is written, as kernels inline them on processors that need mfence there.
constexpr const char *kOfLinux[] = {
    "__get_user_nocheck_1",
    "__get_user_nocheck_2",
    "__get_user_nocheck_4",
    "__get_user_nocheck_8",
    "__x2apic_send_IPI_dest",
    "__x2apic_send_IPI_mask",
    "__x2apic_send_IPI_shorthand",
    "barrier_nospec",
    "copy_mount_options",
    "lapic_next_deadline",
    "strncpy_from_user",
    "strnlen_user",
    "weak_wrmsr_fence",
    "x2apic_send_IPI",
    "x2apic_send_IPI_all",
    "x2apic_send_IPI_allbutself",
    "x2apic_send_IPI_mask",
    "x2apic_send_IPI_self",
};

// Of a site; a trace that was not recorded may lack the bytes.
bool may_be_explicit(const SiteRow &row)
{
    constexpr std::array kSfence = {std::byte{0x0f}, std::byte{0xae}, std::byte{0xf8}};
    constexpr std::array kMfence = {std::byte{0x0f}, std::byte{0xae}, std::byte{0xf0}};
    const std::vector<std::byte> &bytes = row.site.instruction;
    return row.counts.fences != 0 && (bytes.empty() || std::ranges::equal(bytes, kSfence) ||
                                      std::ranges::equal(bytes, kMfence));
}

} // namespace

std::vector<std::string> incidental_functions(const std::vector<std::string> &named)
{
    std::set<std::string> functions(named.begin(), named.end());
    if (functions.erase("none") == 0)
        functions.insert(std::begin(kOfLinux), std::end(kOfLinux));
    return {functions.begin(), functions.end()};
}

IncidentalFences::IncidentalFences(const TraceReader &reader,
                                   const std::vector<std::string> &functions)
{
    const std::set<std::string> wanted(functions.begin(), functions.end());
    std::map<std::uint32_t, std::string> names; // by symbol
    for (const Symbol &symbol : reader.symbols())
        if (const std::string name = symbol.name.substr(0, symbol.name.find('.'));
            wanted.contains(name))
            names.emplace(symbol.id, name);
    std::map<std::string, std::uint64_t> executed;
    for (const SiteRow &row : reader.sites()) {
        const auto name = names.find(row.location.symbol);
        if (name == names.end() || !may_be_explicit(row))
            continue;
        sites_.insert(row.site.id);
        executed[name->second] += row.counts.fences;
    }
    if (executed.empty())
        return;
    Digest digest;
    for (const auto &[name, fences] : executed) {
        functions_.push_back({name, fences});
        digest.add(name);
    }
    digest_ = digest.hex().substr(0, 8);
}

} // namespace fencepost::trace
