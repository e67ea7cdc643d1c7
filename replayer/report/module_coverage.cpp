// SPDX-License-Identifier: GPL-2.0-or-later
// See module_coverage.h.
#include "replayer/report/module_coverage.h"

#include <algorithm>
#include <map>
#include <set>

#include "analyzer/symbols/kallsyms.h"

namespace fencepost::collect {

namespace {

constexpr const char *kKernel = "kernel"; // tens of thousands of functions, of everything

// Names of functions by module, as far as the trace has seen them.
using Seen = std::map<std::string, std::set<std::string>>;

Seen seen_functions(const symbols::CodeNames &names)
{
    Seen seen;
    const auto see = [&](trace::Privilege privilege, const std::string &module,
                         const trace::CodeLocation &location) {
        if (privilege != trace::Privilege::kernel || location.symbol == 0 || module == kKernel ||
            location.symbol >= names.symbols().size())
            return;
        seen[module].insert(names.symbols()[location.symbol].name);
    };
    for (const trace::SiteRow &row : names.sites())
        see(row.site.privilege, row.site.module, row.location);
    for (const trace::StackFrameRow &row : names.frames())
        see(row.frame.privilege, row.frame.module, row.location);
    return seen;
}

} // namespace

std::vector<report::ModuleCoverage> module_coverage(const OpenedRun &run)
{
    std::vector<report::ModuleCoverage> modules;
    const Seen seen = seen_functions(run.names());
    if (seen.empty() || !std::filesystem::exists(run.files().kallsyms()))
        return modules;
    std::vector<std::string> notes;
    std::map<std::string, std::set<std::string>> all;
    const symbols::SymbolTable functions =
        symbols::read_kernel_functions(run.files().kallsyms(), run.files().modules(), notes);
    for (const symbols::CodeSymbol &symbol : functions.symbols())
        if (seen.contains(symbol.module) && symbol.rank != symbols::SymbolRank::marker)
            all[symbol.module].insert(symbol.name);
    for (const auto &[module, names] : all) {
        report::ModuleCoverage &each = modules.emplace_back(report::ModuleCoverage{module});
        each.functions = names.size();
        std::set_difference(names.begin(), names.end(), seen.at(module).begin(),
                            seen.at(module).end(), std::back_inserter(each.unseen));
        each.seen = each.functions - each.unseen.size();
    }
    std::sort(modules.begin(), modules.end(),
              [](const auto &a, const auto &b) { return a.seen > b.seen; });
    return modules;
}

} // namespace fencepost::collect
